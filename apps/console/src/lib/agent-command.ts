/** The command that connects a machine as a device, the same that `npm start` prints. */
export function agentCommand(publicUrl: string, token: string): string {
  return `npm run agent -- run --hub ${publicUrl} --token ${token}`
}

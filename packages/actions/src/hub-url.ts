/** Whether a URL leads to the machine of whoever asks, where nobody can listen in. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    // The whole name: 127.0.0.1.example.com is somewhere else.
    /^127(\.\d{1,3}){3}$/.test(hostname)
  )
}

/** The command that connects a machine, or simulated devices on it, to a hub; it works as it is. */
export function agentCommand(hubUrl: string, token: string, command: 'run' | 'simulate' = 'run'): string {
  // The agent asks for a word where a stranger could listen in.
  const isPlaintext = hubUrl.startsWith('http:') && !isLoopback(hubUrl)
  return `npm run agent -- ${command} --hub ${hubUrl} --token ${token}${isPlaintext ? ' --dangerous-allow-plaintext' : ''}`
}

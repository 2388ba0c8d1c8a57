/** Returns whether a URL leads to the local machine. Even plain HTTP to the local machine cannot be read on the network. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    // Match the whole name: 127.0.0.1.example.com is another host.
    /^127(\.\d{1,3}){3}$/.test(hostname)
  )
}

/** Returns the shell command that connects a machine, or simulated devices on it, to a hub. */
export function agentCommand(hubUrl: string, token: string, command: 'run' | 'simulate' = 'run'): string {
  // The agent requires `--dangerous-allow-plaintext` for plain HTTP to another machine.
  const isPlaintext = hubUrl.startsWith('http:') && !isLoopback(hubUrl)
  return `npm run agent -- ${command} --hub ${hubUrl} --token ${token}${isPlaintext ? ' --dangerous-allow-plaintext' : ''}`
}

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

/**
 * True if the hub at this URL offers its install script and the packed agent: over HTTPS, or on the local machine. The console and the
 * hub write such a URL into shell commands, so other characters than those of host names and addresses are refused.
 */
export function offersInstall(hubUrl: string): boolean {
  return /^https?:\/\/[\w.:[\]-]+$/.test(hubUrl) && (hubUrl.startsWith('https:') || isLoopback(hubUrl))
}

/**
 * Arguments of the agent that connect a machine, or simulated devices on it, to a hub. The agent reads the token from `tokenFile`, else
 * prompts for it. So the token appears neither in the list of processes nor in the history of the shell.
 */
export function agentArguments(hubUrl: string, command: 'run' | 'simulate', tokenFile?: string): string {
  // The agent requires `--dangerous-allow-plaintext` for plain HTTP to another machine.
  const isPlaintext = hubUrl.startsWith('http:') && !isLoopback(hubUrl)
  return `${command} --hub ${hubUrl}${tokenFile === undefined ? '' : ` --token-file ${shellWord(tokenFile)}`}${isPlaintext ? ' --dangerous-allow-plaintext' : ''}`
}

/**
 * Returns the shell command that connects a machine, or simulated devices on it, to a hub. `agent` starts the agent; the default runs in a
 * checkout of the source code.
 */
export function agentCommand(
  hubUrl: string,
  tokenFile: string,
  command: 'run' | 'simulate' = 'run',
  agent = 'npm run agent --',
): string {
  return `${agent} ${agentArguments(hubUrl, command, tokenFile)}`
}

/** Quotes a text for a shell if it has other characters than those of usual paths. */
function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

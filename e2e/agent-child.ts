import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '../apps/agent/muster-agent.js')

export type AgentChild = AsyncDisposable & { output: () => string }

/** Starts the agent as users do: from the checkout, or from the packed file `main`. The agent is stopped on disposal. */
export function startAgent(options: string[], main = MAIN): AgentChild {
  const { child, output } = run(options, main)
  return {
    output,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
      await ended
      clearTimeout(timer)
    },
  }
}

/** Runs a one-shot command of the agent and resolves to its output. Throws if it fails. */
export async function agentCommand(options: string[]): Promise<string> {
  const { child, output } = run(options, MAIN)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the agent ended with ${code}: ${output()}`)
  return output()
}

function run(options: string[], main: string): { child: ChildProcess; output: () => string } {
  const child = spawn(process.execPath, [main, ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  return { child, output: () => Buffer.concat(chunks).toString() }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createDeviceCertificate } from '../apps/agent/src/certificate.ts'
import { packApp } from '../tools/pack-app.ts'
import { startBenchHub } from './hub-process.ts'
import { memoryKiB, residentKiB } from './processes.ts'
import { endOf, middle, report, reportGoal, startEcho } from './yardsticks.ts'

const ROUNDS = 5
/** Time that is not measured, in seconds: the agent sends its system information, and V8 returns memory. */
const SETTLE_SECS = 10
const SAMPLES = 5
const MAX_RATIO = 1.2
const CONNECT_TIMEOUT_MS = 30_000

type Memory = { residentKiB: number; proportionalKiB: number }

/**
 * Measures the memory of an agent, packed as in a release, while it is connected over mutual TLS (docs/goals.md P28). Compares it
 * with a client that only holds a WebSocket over mutual TLS and pings. Each round runs both, one after the other. The goal holds for the
 * resident memory, because a device runs no other Node with which it could share pages.
 */
export async function agent(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-bench-agent-'))
  try {
    const program = join(folder, 'muster-agent.mjs')
    await packApp('agent', program)
    const file = (name: string): string => join(folder, name)
    const [hubPair, device] = [createDeviceCertificate('localhost'), createDeviceCertificate()]
    await writeFile(file('hub.pem'), hubPair.certificatePem)
    await writeFile(file('hub.key'), hubPair.keyPem)
    await writeFile(file('cert.pem'), device.certificatePem)
    await writeFile(file('key.pem'), device.keyPem)
    await using hub = await startBenchHub({
      MUSTER_TLS_CERT: file('hub.pem'),
      MUSTER_TLS_KEY: file('hub.key'),
    })
    const tls = { ca: file('cert.pem'), cert: file('hub.pem'), key: file('hub.key') }
    const echo = await startEcho({ tls })
    const url = hub.url.replace('127.0.0.1', 'localhost')
    const rounds: { agent: Memory; bare: Memory }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const options = ['--hub', url, '--token', hub.token, '--data', file(`device-${round}`)]
      rounds.push({
        agent: await measure(file('hub.pem'), [program, 'run', ...options]),
        bare: await measure(file('hub.pem'), [
          join(import.meta.dirname, 'bare-client.js'),
          `wss://localhost:${echo.port}`,
          folder,
        ]),
      })
    }
    await endOf(echo.child)
    for (const client of ['bare', 'agent'] as const) {
      const mib = (figure: keyof Memory): string =>
        `${(middle(rounds, round => round[client][figure]) / 1024).toFixed(1)} MiB`
      report(
        client === 'bare' ? 'bare client with mutual TLS' : 'agent',
        `${mib('residentKiB')} resident, ${mib('proportionalKiB')} proportional (PSS)`,
      )
    }
    const ratios = rounds.map(round => round.agent.residentKiB / round.bare.residentKiB)
    const ratio = middle(ratios, one => one)
    reportGoal(
      'P28',
      'resident memory of agent / bare client',
      `${ratio.toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
      `at most ${MAX_RATIO}`,
      ratio <= MAX_RATIO,
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Runs a client with the Node of this bench until it was connected for a while. Returns the medians of its memory. */
async function measure(authority: string, argv: string[]): Promise<Memory> {
  const env = { ...process.env, SSL_CERT_FILE: authority, SSL_CERT_DIR: '/nonexistent' }
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  try {
    await connected(child)
    await pause(SETTLE_SECS * 1000)
    const samples: Memory[] = []
    for (let sample = 0; sample < SAMPLES; sample++) {
      samples.push({ residentKiB: residentKiB(child.pid!), proportionalKiB: memoryKiB(child.pid!).hub })
      await pause(1000)
    }
    return {
      residentKiB: middle(samples, one => one.residentKiB),
      proportionalKiB: middle(samples, one => one.proportionalKiB),
    }
  } finally {
    process.off('exit', kill)
    kill()
    await once(child, 'exit')
  }
}

function connected(child: ChildProcess): Promise<void> {
  return new Promise((done, failed) => {
    let text = ''
    const timer = setTimeout(() => failed(new Error(`not connected: ${text}`)), CONNECT_TIMEOUT_MS)
    child.stderr!.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (!text.includes('connected')) return
      clearTimeout(timer)
      done()
    })
    child.once('exit', code => failed(new Error(`exited with ${code}: ${text}`)))
  })
}

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { BASE58, encodeRadix } from '@muster/actions/client'
import { ConfigError } from './config-error.ts'
import { codeOf } from './describe-error.ts'

const SCRIPT_TIMEOUT_MS = 30_000
const MAX_OUTPUT_BYTES = 1024 * 1024
/** Longest first line of a script that names its interpreter, as in Linux. */
const MAX_FIRST_LINE = 256

/** Computes the device fingerprint from the output of a fingerprint script; every byte counts (docs/protocol.md 6.4). */
export function fingerprintOf(output: Uint8Array): string {
  return `d_sk_${encodeRadix(createHash('sha512-256').update(output).digest(), BASE58)}`
}

/**
 * Runs a fingerprint script and returns the fingerprint (docs/protocol.md 8.2). Throws `ConfigError` if the script cannot be run or
 * prints nothing. Without this error all devices with a failing script would share one fingerprint.
 */
export async function fingerprintOfScript(path: string, signal?: AbortSignal): Promise<string> {
  const output = await outputOf(path, signal)
  if (output.length === 0)
    throw new ConfigError(
      `fingerprint-script: found no output of ${path}, expected text that identifies the device`,
    )
  return fingerprintOf(output)
}

async function outputOf(path: string, signal: AbortSignal | undefined): Promise<Buffer> {
  const options = {
    encoding: 'buffer',
    timeout: SCRIPT_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    ...(signal && { signal }),
  } as const
  try {
    const running = promisify(execFile)(path, [], options)
    // Closes standard input, so that a script that reads from it does not wait forever.
    running.child.stdin?.on('error', () => {}).end()
    return (await running).stdout
  } catch (error) {
    signal?.throwIfAborted()
    // The exit status is ignored, because published Nexigon agents use the output of a failed script as well (docs/protocol.md 6.4).
    if (hasExited(error)) return error.stdout
    const problem = isKilled(error)
      ? `not done after ${SCRIPT_TIMEOUT_MS / 1000} s`
      : (codeOf(error) ?? 'it crashed')
    throw new ConfigError(
      `fingerprint-script: found ${path} (${problem}${await interpreterProblem(path, error)}), expected an executable whose output identifies the device`,
    )
  }
}

/**
 * Says why the system finds no program although the script exists: `ENOENT` then means the interpreter in its first line. An editor of another
 * system ends that line with a carriage return, which becomes a part of the interpreter's name.
 */
async function interpreterProblem(path: string, error: unknown): Promise<string> {
  if (codeOf(error) !== 'ENOENT') return ''
  const text = await readFile(path, 'latin1').catch(() => undefined)
  const [, interpreter] = /^#!([^\n]*)/.exec(text?.slice(0, MAX_FIRST_LINE) ?? '') ?? []
  if (interpreter === undefined) return ''
  return interpreter.endsWith('\r')
    ? ': its lines end with CRLF, save it with LF'
    : `: its interpreter ${interpreter.trim()} does not exist`
}

function hasExited(error: unknown): error is Error & { stdout: Buffer } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'stdout' in error
}

function isKilled(error: unknown): boolean {
  return error instanceof Error && 'killed' in error && error.killed === true
}

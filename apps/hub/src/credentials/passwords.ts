import { type ChildProcess, fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import { ActionError } from '@muster/actions'
import { FairLimiter, LimiterRejection } from '@muster/concurrency'
import { isCommonPassword } from './common-passwords.ts'
import type { PasswordAnswer, PasswordTask } from './passwords-process.ts'

/** Argon2id with OWASP's parameters: 19 MiB, two passes, one lane. */
const ARGON2ID = 2
const PARAMETERS = { algorithm: ARGON2ID, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/** Hash used for accounts without one. Comparing with it takes as long as with a real hash, and no known password matches it. */
const NOBODYS = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** Limit of concurrent hashes. Each takes 19 MiB and 5 to 25 ms of a core, at low priority (goal P19). */
const MAX_RUNNING = 2
/** Limit of hashes sent to the process, and of unauthenticated clients that wait. Bounds the wait of the last one to a few seconds. */
const MAX_PENDING = 34
/** Nice value of the process, a tenth of the default CPU weight. While all cores are busy, a hash of 10 ms takes about 100 ms. */
const NICENESS = 10
/** Time after the last hash until the process is stopped, in milliseconds, so that an idle hub uses little memory. */
const KEEP_MS = 60_000

/**
 * Memory of a flood, in milliseconds. A wrong password that arrives this soon after a full queue counts as part of a flood. The limits
 * of a flood then apply for the same time.
 */
const REMEMBER_MS = 10_000
/** Limits of verifications for unauthenticated clients. During a flood one of the two hashing threads stays free for other callers. */
const UNAUTHENTICATED = { max: MAX_RUNNING, maxWaiting: MAX_PENDING }
const UNAUTHENTICATED_IN_FLOOD = { max: 1, maxWaiting: 4 }
/** Rest between verifications during a flood, as a multiple of the last one's duration. 25 means 4 % of a core. */
const REST_IN_FLOOD = 25

/**
 * The child process that hashes, at low priority. A flood of sign-ins then uses only CPU time that devices, the database and signed-in
 * people leave idle.
 */
let hasher: ChildProcess | undefined
const pending = new Map<number, PromiseWithResolvers<string | boolean> & { child: ChildProcess }>()
let lastId = 0
let leave: ReturnType<typeof setTimeout> | undefined

/**
 * Hashes a password that is about to be set; `path` is the input field that holds it. Throws `Invalid` with an issue at that field
 * for a common password, and `RateLimited` when too many hashes are pending.
 */
export async function hashPassword(password: string, path = 'password'): Promise<string> {
  if (isCommonPassword(password)) {
    const message = 'This password is one of the most common ones: choose another.'
    throw new ActionError('Invalid', message, { status: 409, issues: [{ path, message }] })
  }
  return hash(password)
}

/**
 * Compares a password with a stored hash. Without a hash it takes the same time and returns false, so that the time does not reveal
 * which accounts exist. Throws `RateLimited` when too many hashes are pending.
 */
export async function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  const matches = await run<boolean>({ password, against: stored ?? NOBODYS })
  return matches && stored != null
}

/** Concurrency limit for unauthenticated clients. A permit is held during the comparison and during the rest that may follow. */
const unauthenticated = new FairLimiter(UNAUTHENTICATED)
let crowdedUntil = 0
let recovery: ReturnType<typeof setTimeout> | undefined

/**
 * As `verifyPassword`, for unauthenticated clients, which have a concurrency limit of their own. A full queue together with wrong
 * passwords counts as a flood. Then the limit is lowered and a rest follows each wrong password, so that other work is not slowed down.
 */
export async function verifyStrangersPassword(
  password: string,
  stored: string | null | undefined,
): Promise<boolean> {
  refuseWhenCrowded()
  const permit = await unauthenticated.enter().catch(error => {
    throw error instanceof LimiterRejection ? tooMany() : error
  })
  const started = performance.now()
  let restMs = 0
  try {
    const matches = await verifyPassword(password, stored)
    const now = performance.now()
    if (!matches && now < crowdedUntil) {
      slowDown()
      restMs = REST_IN_FLOOD * (now - started)
    }
    return matches
  } finally {
    setTimeout(permit.release, restMs).unref()
  }
}

/** Throws `RateLimited` when the queue of unauthenticated clients is full. Call it before any other work for such a client. */
export function refuseWhenCrowded(): void {
  if (!unauthenticated.isFull) return
  crowdedUntil = performance.now() + REMEMBER_MS
  throw tooMany()
}

/** Lowers the limits for unauthenticated clients until no wrong password has counted as part of a flood for `REMEMBER_MS`. */
function slowDown(): void {
  unauthenticated.setLimits(UNAUTHENTICATED_IN_FLOOD)
  clearTimeout(recovery)
  recovery = setTimeout(() => unauthenticated.setLimits(UNAUTHENTICATED), REMEMBER_MS).unref()
}

function tooMany(): ActionError {
  return new ActionError('RateLimited', 'Too many sign-ins at once.', { retryAfterSecs: 1 })
}

/**
 * Returns a new hash of a password that was just verified if the stored one is weaker than `PARAMETERS`, else undefined. Throws
 * `RateLimited` when too many hashes are pending.
 */
export async function strongerHash(password: string, stored: string): Promise<string | undefined> {
  const [, memoryCost, timeCost] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d+\$/.exec(stored) ?? []
  const isStrong = Number(memoryCost) >= PARAMETERS.memoryCost && Number(timeCost) >= PARAMETERS.timeCost
  return isStrong ? undefined : hash(password)
}

function hash(password: string): Promise<string> {
  return run<string>({ password, parameters: PARAMETERS })
}

async function run<Outcome extends string | boolean>(task: PasswordTask): Promise<Outcome> {
  if (pending.size >= MAX_PENDING) throw tooMany()
  // A disconnected child emits `exit` shortly after. Start a new one.
  if (!hasher?.connected) hasher = startHasher()
  const id = ++lastId
  const done = Promise.withResolvers<string | boolean>()
  pending.set(id, { child: hasher, ...done })
  clearTimeout(leave)
  // A process that could not start emits `error` shortly after, which rejects its tasks.
  if (hasher.connected) {
    hasher.channel?.ref()
    hasher.send({ id, ...task })
  }
  return done.promise as Promise<Outcome>
}

/** Called right after the start, because loading the modules takes as long as several hashes. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS)
    // With autogroups, Linux shares CPU time between sessions first, and applies nice values only within a session. The detached
    // process leads a session of its own, so the session needs the nice value as well.
    writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS))
  } catch {
    // The process may have exited already; its `exit` event reports that. Without /proc or autogroups only the priority applies.
  }
}

function startHasher(): ChildProcess {
  // The first hash waits for the start of the process. Without the compile cache, stripping types would take a third of that.
  const compiled = getCompileCacheDir()
  const child = fork(new URL('./passwords-process.ts', import.meta.url), {
    detached: true,
    execArgv: [],
    env: {
      UV_THREADPOOL_SIZE: String(MAX_RUNNING),
      // getCompileCacheDir() returns a subfolder per Node version; the variable takes its parent.
      ...(compiled && { NODE_COMPILE_CACHE: dirname(compiled) }),
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  if (child.pid !== undefined) lowerPriority(child.pid)
  child.unref()
  child.on('message', (answer: PasswordAnswer) => {
    const asked = pending.get(answer.id)
    pending.delete(answer.id)
    if ('error' in answer) asked?.reject(new Error(answer.error))
    else asked?.resolve(answer.outcome)
    if (pending.size > 0) return
    child.channel?.unref()
    leave = setTimeout(() => {
      if (hasher === child) hasher = undefined
      child.disconnect()
    }, KEEP_MS).unref()
  })
  const end = (why: string): void => {
    if (hasher === child) hasher = undefined
    for (const [id, asked] of pending) {
      if (asked.child !== child) continue
      pending.delete(id)
      asked.reject(new Error(`The process that hashes passwords ended: ${why}`))
    }
  }
  child.on('exit', (code, signal) => end(signal ?? `exit code ${code}`))
  child.on('error', error => end(error.message))
  return child
}

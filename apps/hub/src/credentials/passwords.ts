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

/** Costs as much to compare with as any other, and no password is known to match it. */
const NOBODYS = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** Hashes under way at once, each 19 MiB and 5 to 25 ms of a core. Their low weight leaves the cores to others (goal P19). */
const MAX_RUNNING = 2
/** Limit of hashes sent to the process, and of unauthenticated clients that wait. Bounds the wait of the last one to a few seconds. */
const MAX_PENDING = 34
/** A tenth of the weight of others: with every core taken a hash of 10 ms is there after 100 ms. */
const NICENESS = 10
/** How long the process is kept when there is nothing to hash, in milliseconds: an idle hub should be small. */
const KEEP_MS = 60_000

/** For how long somebody who is refused for want of room, or a wrong password in such a time, is remembered, in milliseconds. */
const REMEMBER_MS = 10_000
/** Limits of verifications for unauthenticated clients; in a flood they leave a core free. */
const UNAUTHENTICATED = { max: MAX_RUNNING, maxWaiting: MAX_PENDING }
const UNAUTHENTICATED_IN_FLOOD = { max: 1, maxWaiting: 4 }
/** How often the time that a stranger's wrong password took passes in a flood before the next one's turn: 4 % of a core. */
const REST_IN_FLOOD = 25

/**
 * Hashing has a process of low priority: a flood of sign-ins takes what is left of the machine, and nothing from devices, from the
 * database and from those who are signed in.
 */
let hasher: ChildProcess | undefined
const pending = new Map<number, PromiseWithResolvers<string | boolean> & { child: ChildProcess }>()
let lastId = 0
let leave: ReturnType<typeof setTimeout> | undefined

/**
 * Hashes a password that is about to be set; `path` is the input field that holds it. Throws `Invalid` with an issue at that field
 * for a common password, and `RateLimited` when too many wait.
 */
export async function hashPassword(password: string, path = 'password'): Promise<string> {
  if (isCommonPassword(password)) {
    const message = 'This password is one of the most common ones: choose another.'
    throw new ActionError('Invalid', message, { status: 409, issues: [{ path, message }] })
  }
  return hash(password)
}

/**
 * Compares a password with a stored hash. Without one it takes the same time and answers no, so that unknown accounts cannot
 * be told from known ones. Throws `RateLimited` when too many wait.
 */
export async function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  const matches = await run<boolean>({ password, against: stored ?? NOBODYS })
  return matches && stored != null
}

/** Verifications for unauthenticated clients. A permit is held while the password is compared, and while a rest follows. */
const unauthenticated = new FairLimiter(UNAUTHENTICATED)
let crowdedUntil = 0
let recovery: ReturnType<typeof setTimeout> | undefined

/**
 * As `verifyPassword`, for somebody who may be anybody. Strangers take turns. When more come than can wait and their passwords are
 * wrong, it is a flood: they are slowed down, and the machine is for everybody else.
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

/** Throws `RateLimited` when too many strangers wait: nothing else should be done for who would be refused anyway. */
export function refuseWhenCrowded(): void {
  if (!unauthenticated.isFull) return
  crowdedUntil = performance.now() + REMEMBER_MS
  throw tooMany()
}

/** Lets fewer unauthenticated clients in until no wrong password has come in a crowd for `REMEMBER_MS`. */
function slowDown(): void {
  unauthenticated.setLimits(UNAUTHENTICATED_IN_FLOOD)
  clearTimeout(recovery)
  recovery = setTimeout(() => unauthenticated.setLimits(UNAUTHENTICATED), REMEMBER_MS).unref()
}

function tooMany(): ActionError {
  return new ActionError('RateLimited', 'Too many sign-ins at once.', { retryAfterSecs: 1 })
}

/** A new hash of a password that was just verified, when the stored one is weaker than those made today; else nothing. */
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
  // One whose channel has closed is about to be told as ended.
  if (!hasher?.connected) hasher = startHasher()
  const id = ++lastId
  const done = Promise.withResolvers<string | boolean>()
  pending.set(id, { child: hasher, ...done })
  clearTimeout(leave)
  // A process that could not start emits `exit` shortly after, which rejects its tasks.
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
    // Linux shares cores between sessions first, and by priority only within one: a detached process leads a session of its own.
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

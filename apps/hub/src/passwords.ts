import { ActionError } from '@muster/actions'
import { Piscina } from 'piscina'
import { isCommonPassword } from './common-passwords.ts'
import { hashOrVerify, type PasswordTask } from './passwords-worker.ts'

/** Argon2id with OWASP's parameters: 19 MiB, two passes, one lane. */
const ARGON2ID = 2
const PARAMETERS = { algorithm: ARGON2ID, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/** Hashes under way at once. A hash takes 5 to 25 ms of one core, by machine. */
const MAX_RUNNING = 2
/** How many may wait: who waits is answered within a third of a second or so. */
const MAX_WAITING = 32
/** How long an idle thread is kept, in milliseconds: an idle hub should be small. */
const KEEP_MS = 60_000

/**
 * Threads of low priority: a flood of sign-ins takes what is left of the machine, and nothing from devices and from those who are
 * signed in.
 */
const threads = new Piscina({
  filename: new URL('./passwords-worker.ts', import.meta.url).href,
  name: hashOrVerify.name,
  minThreads: 0,
  maxThreads: MAX_RUNNING,
  concurrentTasksPerWorker: 1,
  idleTimeout: KEEP_MS,
  niceIncrement: 19,
})

let dummy: Promise<string> | undefined

/** Hashes a password that is about to be set. Throws `Invalid` for a common one, `RateLimited` when too many wait. */
export async function hashPassword(password: string): Promise<string> {
  if (isCommonPassword(password)) {
    throw new ActionError('Invalid', 'This password is one of the most common ones: choose another.')
  }
  return hash(password)
}

/**
 * Compares a password with a stored hash. Without one it takes the same time and answers no, so that unknown accounts cannot
 * be told from known ones. Throws `RateLimited` when too many wait.
 */
export async function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  // Made whatever waits, since it is kept.
  dummy ??= threads.run({ password: 'no account has this password', parameters: PARAMETERS })
  const against = stored ?? (await dummy)
  const matches = await run<boolean>({ password, against })
  return matches && stored != null
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

/** Throws `RateLimited` when too many wait: in a flood nothing else should be done for who would be refused anyway. */
export function refuseWhenBusy(): void {
  if (threads.queueSize >= MAX_WAITING)
    throw new ActionError('RateLimited', 'Too many sign-ins at once.', { retryAfterSecs: 1 })
}

async function run<Outcome extends string | boolean>(task: PasswordTask): Promise<Outcome> {
  refuseWhenBusy()
  return threads.run(task)
}

import { ActionError } from '@muster/actions'
import { hash, verify } from '@node-rs/argon2'
import { isCommonPassword } from './common-passwords.ts'

/** Argon2id with OWASP's parameters: 19 MiB, two passes, one lane. Runs on the thread pool, off the event loop. */
const ARGON2ID = 2
const PARAMETERS = { algorithm: ARGON2ID, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/**
 * Hashes under way at once, and how many may wait: a flood of sign-ins must not take both cores from everything else, and who
 * waits is answered within a third of a second (a hash takes 5 to 20 ms).
 */
const MAX_RUNNING = 2
const MAX_WAITING = 32

let running = 0
const waiting: (() => void)[] = []
let dummy: Promise<string> | undefined

/** Hashes a password that is about to be set. Throws `Invalid` for a common one, `RateLimited` when too many wait. */
export async function hashPassword(password: string): Promise<string> {
  if (isCommonPassword(password)) {
    throw new ActionError('Invalid', 'This password is one of the most common ones: choose another.')
  }
  return limited(() => hash(password, PARAMETERS))
}

/**
 * Compares a password with a stored hash. Without one it takes the same time and answers no, so that unknown accounts cannot
 * be told from known ones. Throws `RateLimited` when too many wait.
 */
export async function verifyPassword(password: string, stored: string | null | undefined): Promise<boolean> {
  dummy ??= hash('no account has this password', PARAMETERS)
  const against = stored ?? (await dummy)
  const matches = await limited(() => verify(against, password))
  return matches && stored != null
}

/** A new hash of a password that was just verified, when the stored one is weaker than those made today; else nothing. */
export async function strongerHash(password: string, stored: string): Promise<string | undefined> {
  const [, memoryCost, timeCost] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d+\$/.exec(stored) ?? []
  const isStrong = Number(memoryCost) >= PARAMETERS.memoryCost && Number(timeCost) >= PARAMETERS.timeCost
  return isStrong ? undefined : limited(() => hash(password, PARAMETERS))
}

async function limited<T>(work: () => Promise<T>): Promise<T> {
  if (running >= MAX_RUNNING) {
    if (waiting.length >= MAX_WAITING)
      throw new ActionError('RateLimited', 'Too many sign-ins at once.', { retryAfterSecs: 1 })
    await new Promise<void>(done => waiting.push(done))
  } else running++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running--
  }
}

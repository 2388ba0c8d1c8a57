import { type ChildProcess, fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import { ActionError } from '@muster/actions'
import { isCommonPassword } from './common-passwords.ts'
import type { PasswordAnswer, PasswordTask } from './passwords-process.ts'

/** Argon2id with OWASP's parameters: 19 MiB, two passes, one lane. */
const ARGON2ID = 2
const PARAMETERS = { algorithm: ARGON2ID, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/** Costs as much to compare with as any other, and no password is known to match it. */
const NOBODYS = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** Hashes under way at once, each 19 MiB and 5 to 25 ms of a core. Their low weight leaves the cores to others (goal P19). */
const MAX_RUNNING = 2
/** How many may be under way or have been sent there, and how many strangers may wait: who comes last has an answer within seconds. */
const MAX_PENDING = 34
/** A tenth of the weight of others: with every core taken a hash of 10 ms is there after 100 ms. */
const NICENESS = 10
/** How long the process is kept when there is nothing to hash, in milliseconds: an idle hub should be small. */
const KEEP_MS = 60_000

/** For how long somebody who is refused for want of room, or a wrong password in such a time, is remembered, in milliseconds. */
const REMEMBER_MS = 10_000
/** In a flood strangers take turns one by one, so that a core is free of them, and this many may wait. */
const MAX_RUNNING_IN_FLOOD = 1
const MAX_WAITING_IN_FLOOD = 4
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
  const matches = await run<boolean>({ password, against: stored ?? NOBODYS })
  return matches && stored != null
}

/** Strangers who wait for their turn, in order, and the number of those who have theirs or rest. */
const waiting: PromiseWithResolvers<void>[] = []
let strangers = 0
let crowdedUntil = 0
let floodedUntil = 0

/**
 * As `verifyPassword`, for somebody who may be anybody. Strangers take turns. When more come than can wait and their passwords are
 * wrong, it is a flood: they are slowed down, and the machine is for everybody else.
 */
export async function verifyStrangersPassword(
  password: string,
  stored: string | null | undefined,
): Promise<boolean> {
  refuseWhenCrowded()
  const turn = Promise.withResolvers<void>()
  waiting.push(turn)
  takeTurns()
  await turn.promise
  const started = performance.now()
  let restMs = 0
  try {
    const matches = await verifyPassword(password, stored)
    const now = performance.now()
    if (!matches && now < crowdedUntil) {
      floodedUntil = now + REMEMBER_MS
      restMs = REST_IN_FLOOD * (now - started)
      for (const turn of waiting.splice(MAX_WAITING_IN_FLOOD)) turn.reject(tooMany())
    }
    return matches
  } finally {
    setTimeout(() => {
      strangers--
      takeTurns()
    }, restMs).unref()
  }
}

function takeTurns(): void {
  const places = isFlooded() ? MAX_RUNNING_IN_FLOOD : MAX_RUNNING
  while (strangers < places && waiting.length > 0) {
    strangers++
    waiting.shift()!.resolve()
  }
}

/** Throws `RateLimited` when too many strangers wait: nothing else should be done for who would be refused anyway. */
export function refuseWhenCrowded(): void {
  if (waiting.length < (isFlooded() ? MAX_WAITING_IN_FLOOD : MAX_PENDING)) return
  crowdedUntil = performance.now() + REMEMBER_MS
  throw tooMany()
}

function isFlooded(): boolean {
  return performance.now() < floodedUntil
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
  // One that could not be started is about to be told as ended, too.
  if (hasher.connected) {
    hasher.channel?.ref()
    hasher.send({ id, ...task })
  }
  return done.promise as Promise<Outcome>
}

/** From the start on: loading what it runs takes as long as several hashes. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS)
    // Linux shares cores between sessions first, and by priority only within one: a detached process leads a session of its own.
    writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS))
  } catch {
    // It ended at once, which is told elsewhere; other systems, and kernels without such groups, go by the priority alone.
  }
}

function startHasher(): ChildProcess {
  // Its first answer waits for its start, of which taking the types out of a file would be a third.
  const compiled = getCompileCacheDir()
  const child = fork(new URL('./passwords-process.ts', import.meta.url), {
    detached: true,
    execArgv: [],
    env: {
      UV_THREADPOOL_SIZE: String(MAX_RUNNING),
      // A folder of this version of Node lies in the one that it was told.
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

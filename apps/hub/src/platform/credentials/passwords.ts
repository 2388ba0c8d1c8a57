import { type ChildProcess, fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { availableParallelism, setPriority } from 'node:os'
import { dirname } from 'node:path'
import { ActionError } from '@muster/actions'
import { FairLimiter, LimiterRejection } from '@muster/concurrency'
import { ruleBroken } from '../pipeline/input-rules.ts'
import type { PasswordAnswer, PasswordTask } from './passwords-process.ts'

/** Argon2id with OWASP's parameters: 19 MiB, two passes, one lane (no parallelism). */
const ARGON2ID = 2
const PARAMETERS = { algorithm: ARGON2ID, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 }

/**
 * Hash for accounts without a password hash. Comparing with it takes as long as with a real hash, and no known password matches it.
 */
const DUMMY_HASH = `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/**
 * Limit of concurrent hashes: one for each two cores, and at most two. Each takes 19 MiB and 5 to 25 ms of a core, at low priority
 * (docs/goals.md, P19). Linux does not interrupt a hash at once for a thread of higher priority, so the hub and the database need a
 * core that runs no hash.
 */
const MAX_RUNNING = availableParallelism() < 4 ? 1 : 2
/**
 * Limit of hashes that were sent to the hashing process and have no answer yet. Waiting unauthenticated clients have the same limit. It
 * bounds the longest wait to a few seconds.
 */
const MAX_PENDING = 34
/**
 * Nice value of the hashing process, which gives it a tenth of the default CPU weight. While all cores are busy, a hash of 10 ms
 * takes about 100 ms.
 */
const NICENESS = 10
/** Time after the last hash until the process is stopped, in milliseconds, so that an idle hub uses little memory. */
const KEEP_MS = 60_000

/**
 * Time for which a flood of sign-ins is remembered, in milliseconds. A wrong password within this time after the queue was full counts
 * as part of a flood. After each such password, the limits of a flood apply for the same time.
 */
const FLOOD_MEMORY_MS = 10_000
/**
 * Limits of password verifications for unauthenticated clients. During a flood, other callers wait for at most one of them.
 */
const UNAUTHENTICATED = { max: MAX_RUNNING, maxWaiting: MAX_PENDING }
const UNAUTHENTICATED_IN_FLOOD = { max: 1, maxWaiting: 4 }
/** Pause between verifications during a flood, as a multiple of the last verification's duration. 25 means 4 % of a core. */
const REST_IN_FLOOD = 25

type PendingTask = PromiseWithResolvers<string | boolean | null> & { child: ChildProcess }

/**
 * Hashes and compares passwords in a child process of low priority, which is started on demand. A flood of sign-ins then uses only CPU
 * time that devices, the database and signed-in people leave idle. Disposal stops the process.
 */
export class Passwords implements Disposable {
  #child: ChildProcess | undefined
  readonly #pending = new Map<number, PendingTask>()
  #lastId = 0
  #stopTimer: ReturnType<typeof setTimeout> | undefined
  /**
   * Concurrency limit for unauthenticated clients. A permit is held during the comparison and during the pause that follows it
   * in a flood.
   */
  readonly #unauthenticated = new FairLimiter(UNAUTHENTICATED)
  #floodUntilMs = 0
  #floodTimer: ReturnType<typeof setTimeout> | undefined

  /**
   * Hashes a password that is about to be set; `path` is the input field that holds it. Throws `Invalid` with an issue at that field
   * for a common password, and `RateLimited` when too many hashes are pending.
   */
  async hash(password: string, path = 'password'): Promise<string> {
    const hash = await this.#run<string | null>({ password, parameters: PARAMETERS, isNew: true })
    if (hash === null) throw ruleBroken(path, 'This password is one of the most common ones: choose another.')
    return hash
  }

  /**
   * Compares a password with a stored hash. Without a hash it takes the same time and returns false, so that the time does not reveal
   * which accounts exist. Throws `RateLimited` when too many hashes are pending.
   */
  async verify(password: string, stored: string | null | undefined): Promise<boolean> {
    const matches = await this.#run<boolean>({ password, against: stored ?? DUMMY_HASH })
    return matches && stored != null
  }

  /**
   * Like `verify`, for unauthenticated clients, which have a separate concurrency limit. A wrong password soon after the queue was full
   * starts a flood. During a flood the limit is lower and a pause follows each wrong password, so that other work is not slowed down.
   */
  async verifyUnauthenticated(password: string, stored: string | null | undefined): Promise<boolean> {
    this.refuseWhenCrowded()
    const permit = await this.#unauthenticated.enter().catch(error => {
      throw error instanceof LimiterRejection ? tooMany() : error
    })
    const started = performance.now()
    let restMs = 0
    try {
      const matches = await this.verify(password, stored)
      const now = performance.now()
      if (!matches && now < this.#floodUntilMs) {
        this.#slowDown()
        restMs = REST_IN_FLOOD * (now - started)
      }
      return matches
    } finally {
      setTimeout(permit.release, restMs).unref()
    }
  }

  /** Throws `RateLimited` when the queue of unauthenticated clients is full. Call it before any other work for such a client. */
  refuseWhenCrowded(): void {
    if (!this.#unauthenticated.isFull) return
    this.#floodUntilMs = performance.now() + FLOOD_MEMORY_MS
    throw tooMany()
  }

  /**
   * Hashes a just verified password again if its stored hash is weaker than `PARAMETERS`. Returns the new hash; undefined if the
   * stored hash is strong enough. Throws `RateLimited` when too many hashes are pending.
   */
  async strongerHash(password: string, stored: string): Promise<string | undefined> {
    const [, memoryCost, timeCost] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=\d+\$/.exec(stored) ?? []
    const isStrong = Number(memoryCost) >= PARAMETERS.memoryCost && Number(timeCost) >= PARAMETERS.timeCost
    return isStrong ? undefined : this.#run<string>({ password, parameters: PARAMETERS, isNew: false })
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#stopTimer)
    clearTimeout(this.#floodTimer)
    this.#child?.kill()
  }

  /**
   * Lowers the limits for unauthenticated clients. A timer raises them again after `FLOOD_MEMORY_MS`; each further call restarts the
   * timer.
   */
  #slowDown(): void {
    this.#unauthenticated.setLimits(UNAUTHENTICATED_IN_FLOOD)
    clearTimeout(this.#floodTimer)
    this.#floodTimer = setTimeout(
      () => this.#unauthenticated.setLimits(UNAUTHENTICATED),
      FLOOD_MEMORY_MS,
    ).unref()
  }

  async #run<Outcome extends string | boolean | null>(task: PasswordTask): Promise<Outcome> {
    if (this.#pending.size >= MAX_PENDING) throw tooMany()
    // A disconnected child process is about to exit, so it is replaced.
    if (!this.#child?.connected) this.#child = this.#start()
    const child = this.#child
    const id = ++this.#lastId
    const done = Promise.withResolvers<string | boolean | null>()
    this.#pending.set(id, { child, ...done })
    clearTimeout(this.#stopTimer)
    // No task is sent to a process that could not start. Its `error` event follows and rejects its tasks.
    if (child.connected) {
      child.channel?.ref()
      child.send({ id, ...task })
    }
    return done.promise as Promise<Outcome>
  }

  #start(): ChildProcess {
    // The first hash waits for the start of the process. Without the compile cache, a third of that time would be spent on type
    // stripping.
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
      const task = this.#pending.get(answer.id)
      this.#pending.delete(answer.id)
      if ('error' in answer) task?.reject(new Error(answer.error))
      else task?.resolve(answer.outcome)
      if (this.#pending.size > 0) return
      child.channel?.unref()
      this.#stopTimer = setTimeout(() => {
        if (this.#child === child) this.#child = undefined
        child.disconnect()
      }, KEEP_MS).unref()
    })
    const end = (why: string): void => {
      if (this.#child === child) this.#child = undefined
      for (const [id, task] of this.#pending) {
        if (task.child !== child) continue
        this.#pending.delete(id)
        task.reject(new Error(`The process that hashes passwords ended: ${why}`))
      }
    }
    child.on('exit', (code, signal) => end(signal ?? `exit code ${code}`))
    child.on('error', error => end(error.message))
    return child
  }
}

/**
 * Hashes a generated password in this process. For a single hash at the first start, when there is no other work to protect, this is
 * faster than starting a child process.
 */
export async function hashOnce(password: string): Promise<string> {
  const { hash } = await import('@node-rs/argon2')
  return hash(password, PARAMETERS)
}

function tooMany(): ActionError {
  return new ActionError('RateLimited', 'Too many sign-ins at once.', { retryAfterSecs: 1 })
}

/**
 * Lowers the CPU priority of the child process. Call it right after the fork, because loading the modules takes as much CPU time as
 * several hashes.
 */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS)
    // With autogroups, Linux shares CPU time between sessions first, and applies nice values only within a session. The detached
    // process leads a session of its own, so the session needs the nice value as well.
    writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS))
  } catch {
    // The process may have exited already; its `exit` event reports that. Without /proc or autogroups only the nice value applies.
  }
}

import { every } from '@muster/concurrency'
import type { Readiness } from '../database/server/readiness.ts'
import type { Logger } from '../runtime/log.ts'
import type { Measures } from '../runtime/measures.ts'
import { isAboutRecipient, type Mail, type Mailer, MailRefused } from './mailer.ts'

/** Interval of the checks whether the mail server answers, in milliseconds. With its timeouts, a check fails within 30 s. */
const CHECK_INTERVAL_MS = 15_000
/** Failed deliveries in a row after which mail counts as failing. A server that asks to try later fails single ones. */
const FAILURES = 3
/** Time after the last failed delivery until it counts no more, in milliseconds: no mail is retried for longer. */
const FAILURE_MS = 60 * 60 * 1000

type MailWatchOptions = {
  readiness: Pick<Readiness, 'degrade' | 'restore'>
  log: Logger
  measures: Pick<Measures, 'mailed'> | undefined
  checkIntervalMs?: number
}

/**
 * Makes mail a part of the health: the hub is `degraded` while its mail server does not answer, or when the last deliveries failed. Mails
 * that the server refuses for good do not count, and refusals of a recipient do not either, because a wrong address of a person is no
 * fault of the hub.
 */
export class MailWatch implements Mailer {
  readonly #mailer: Mailer
  readonly #options: MailWatchOptions
  readonly #loop: AsyncDisposable
  #isReachable = true
  #failures = 0
  #failedAtMs = 0

  constructor(mailer: Mailer, options: MailWatchOptions) {
    this.#mailer = mailer
    this.#options = options
    const { checkIntervalMs = CHECK_INTERVAL_MS, log } = options
    this.#loop = every(
      checkIntervalMs,
      () => this.#checkServer(),
      error => log.warn({ err: error }, 'the check of the mail server failed'),
    )
  }

  /** Whether the mail server answered the last check. Undefined without a mail server. */
  get isReachable(): boolean | undefined {
    return this.#mailer.greet && this.#isReachable
  }

  async send(mail: Mail, signal: AbortSignal): Promise<void> {
    const { measures } = this.#options
    try {
      await this.#mailer.send(mail, signal)
      measures?.mailed('sent')
      this.#delivered()
    } catch (error) {
      const isRefused = error instanceof MailRefused
      measures?.mailed(isRefused ? 'refused' : 'failed')
      if (!isRefused && !isAboutRecipient(error)) this.#failed()
      throw error
    }
  }

  async check(): Promise<void> {
    await this.#mailer.check()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    await this.#mailer[Symbol.asyncDispose]()
  }

  #delivered(): void {
    if (this.#failures >= FAILURES) this.#options.log.info('mails are delivered again')
    this.#failures = 0
    this.#report()
  }

  #failed(): void {
    this.#failures++
    this.#failedAtMs = performance.now()
    // Each failed delivery has a log line of its job, with the reason.
    if (this.#failures === FAILURES)
      this.#options.log.error({ failures: FAILURES }, 'the last mails could not be delivered')
    this.#report()
  }

  async #checkServer(): Promise<void> {
    const { log } = this.#options
    const problem = await this.#mailer.greet?.().then(
      () => undefined,
      (error: Error) => error.message,
    )
    const wasReachable = this.#isReachable
    this.#isReachable = problem === undefined
    if (wasReachable && problem !== undefined) log.error({ problem }, 'the mail server does not answer')
    if (!wasReachable && problem === undefined) log.info('the mail server answers again')
    if (performance.now() - this.#failedAtMs > FAILURE_MS) this.#failures = 0
    this.#report()
  }

  #report(): void {
    const { readiness } = this.#options
    if (!this.#isReachable) readiness.degrade('mail', 'the mail server does not answer')
    else if (this.#failures >= FAILURES)
      readiness.degrade('mail', `the last ${this.#failures} deliveries of mails failed`)
    else readiness.restore('mail')
  }
}

import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport, type SendMailOptions } from 'nodemailer'
import type { Logger } from '../runtime/log.ts'

/** One mail to one recipient, in both forms. */
export type Mail = {
  to: { name?: string; address: string }
  subject: string
  text: string
  html: string
  /** The link that the mail is about. */
  link: string
}

/** The mail server said that it will never take this mail, or no mail can be made of it. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}

export type Mailer = AsyncDisposable & {
  /** Hands a mail over; throws `MailRefused` when another try would not help, other errors when it may. */
  send(mail: Mail, signal: AbortSignal): Promise<void>
  /** Signs in to the mail server without sending anything; throws what is in the way. Does nothing without a mail server. */
  check(): Promise<void>
}

type MailerOptions = {
  /** Nothing for the outbox folder. */
  smtpUrl: string | undefined
  /** `muster@example.com` or `Muster <muster@example.com>`. */
  mailFrom: string
  dataDir: string
  log: Logger
}

/** How long the mail server may take for each step, in milliseconds. */
const CONNECT_TIMEOUT_MS = 15_000
const SOCKET_TIMEOUT_MS = 45_000

/** The hub's way to send mail: through a mail server, or into files without one. */
export function createMailer({ smtpUrl, mailFrom, dataDir, log }: MailerOptions): Mailer {
  const from = addressOf(mailFrom)
  return smtpUrl === undefined ? outbox(join(dataDir, 'outbox'), from, log) : mailServer(smtpUrl, from)
}

type Address = { name: string; address: string }

function mailServer(url: string, from: Address): Mailer {
  const transport = createTransport({
    url,
    pool: true,
    // One worker for each kind of mail.
    maxConnections: 3,
    maxRequeues: 0,
    idleTimeout: 30_000,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
  })
  return {
    async send(mail, signal) {
      try {
        await transport.sendMail({ ...message(mail, from), signal })
      } catch (error) {
        throw isFinal(error) ? new MailRefused((error as Error).message, { cause: error }) : error
      }
    },
    async check() {
      await transport.verify()
    },
    async [Symbol.asyncDispose]() {
      transport.close({ force: true })
    },
  }
}

/** Writes mails as files that mail programs open, and tells their links in the log. */
function outbox(folder: string, from: Address, log: Logger): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    async send(mail) {
      const { message: bytes } = await transport.sendMail(message(mail, from))
      await mkdir(folder, { recursive: true, mode: 0o700 })
      // Their names are in the order of time.
      const path = join(folder, `${new Date().toISOString().replaceAll(':', '')}-${randomUUID()}.eml`)
      const draft = `${path}.draft`
      try {
        await writeFile(draft, bytes as Buffer, { mode: 0o600, flush: true })
        await rename(draft, path)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
      log.info({ to: mail.to.address, subject: mail.subject, link: mail.link }, 'mail is in the outbox')
    },
    async check() {},
    async [Symbol.asyncDispose]() {},
  }
}

/** Names and addresses stay apart, so that no text in one of them is read as a further recipient. */
function message({ to, subject, text, html }: Mail, from: Address): SendMailOptions {
  return {
    from,
    to: { name: to.name ?? '', address: to.address },
    subject,
    text,
    html,
    // Nobody's holiday notice answers it.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/**
 * Whether the mail itself is refused for good: by status 5xx for its recipient or its text (RFC 5321 4.2.1), or because its
 * addresses are none. A sender that the server does not take is a matter of settings, which may be mended meanwhile.
 */
function isFinal(error: unknown): boolean {
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number }
  if ((code !== 'EENVELOPE' && code !== 'EMESSAGE') || command === 'MAIL FROM') return false
  return responseCode === undefined || responseCode >= 500
}

function addressOf(text: string): Address {
  const [, name, address] = /^(.*?) ?<(.*)>$/.exec(text) ?? [undefined, '', text]
  return { name: name!, address: address! }
}

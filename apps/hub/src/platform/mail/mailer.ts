import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport, type SendMailOptions } from 'nodemailer'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Logger } from '../runtime/log.ts'

/** Mail to a single recipient, as plain text and HTML. */
export type Mail = {
  to: { name?: string; address: string }
  subject: string
  text: string
  html: string
  /** Link of the mail's button. The hub logs it if it has no mail server. */
  link: string
}

/** Error for a mail that the mail server rejects permanently, or that cannot be composed. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}

/** Sends mails. */
export type Mailer = AsyncDisposable & {
  /** Sends a mail. Throws `MailRefused` when a retry cannot help, and other errors when a retry may help. */
  send(mail: Mail, signal: AbortSignal): Promise<void>
  /** Signs in to the mail server without sending a mail. Throws on failure. Does nothing if no mail server is configured. */
  check(): Promise<void>
  /**
   * Connects to the mail server and waits for its greeting, without signing in: mail providers limit sign-ins. Throws on failure. Undefined
   * if no mail server is configured.
   */
  greet?: () => Promise<void>
}

type MailerOptions = {
  /** URL of the mail server; undefined for the outbox folder. */
  smtpUrl: string | undefined
  /** Sender of all mails, such as `muster@example.com` or `Muster <muster@example.com>`. */
  mailFrom: string
  dataDir: string
  log: Logger
}

/** Timeout for each step of connecting to the mail server (DNS, TCP, greeting), in milliseconds. */
const CONNECT_TIMEOUT_MS = 15_000
/** Maximum time without data on an SMTP connection, in milliseconds. */
const SOCKET_TIMEOUT_MS = 45_000
/** Timeout for each step of `greet`, in milliseconds. */
const GREET_TIMEOUT_MS = 4_000

/** Creates the mailer of the hub. It sends mails by SMTP, or writes them to the outbox folder if no mail server is configured. */
export function createMailer({ smtpUrl, mailFrom, dataDir, log }: MailerOptions): Mailer {
  const from = addressOf(mailFrom)
  return smtpUrl === undefined ? outbox(join(dataDir, 'outbox'), from, log) : mailServer(smtpUrl, from)
}

type Address = { name: string; address: string }

function mailServer(url: string, from: Address): Mailer {
  const transport = createTransport({
    url,
    pool: true,
    // Limit of concurrent connections. The hub sends at most one mail of each kind at a time, so a few connections suffice.
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
    greet: () => greet(url),
    async [Symbol.asyncDispose]() {
      transport.close({ force: true })
    },
  }
}

/** Whether a delivery failed because the mail server does not take mails for this recipient, now or at all. */
export function isAboutRecipient(error: unknown): boolean {
  return (error as { command?: unknown }).command === 'RCPT TO'
}

async function greet(url: string): Promise<void> {
  const connection = new SMTPConnection({
    ...parseConnectionUrl(url),
    connectionTimeout: GREET_TIMEOUT_MS,
    greetingTimeout: GREET_TIMEOUT_MS,
    dnsTimeout: GREET_TIMEOUT_MS,
    socketTimeout: GREET_TIMEOUT_MS,
  })
  try {
    await new Promise<void>((done, fail) => {
      connection.on('error', fail)
      // A connection that the server closes before its greeting ends with an error too.
      connection.connect((error?: Error | null) => (error ? fail(error) : done()))
    })
    connection.quit()
  } finally {
    connection.close()
  }
}

/** Writes mails as .eml files, which mail programs open, and logs the links of their buttons. */
function outbox(folder: string, from: Address, log: Logger): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    async send(mail) {
      const { message: bytes } = await transport.sendMail(message(mail, from))
      await mkdir(folder, { recursive: true, mode: 0o700 })
      // The name begins with the time, so that a folder listing shows the mails in the order in which they were sent.
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

/** Builds the message for nodemailer. Name and address are separate fields, so a name cannot add a recipient. */
function message({ to, subject, text, html }: Mail, from: Address): SendMailOptions {
  return {
    from,
    to: { name: to.name ?? '', address: to.address },
    subject,
    text,
    html,
    // RFC 3834: keeps mail servers from sending automatic replies, such as holiday notices.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/**
 * True when the mail is rejected permanently: with status 5xx for its recipient or content (RFC 5321, 4.2.1), or for an invalid
 * address. A rejected sender is an error in the settings, so a retry may succeed after the settings were corrected.
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

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { parseMail, type ReceivedMail } from './mail.ts'

/** A mail and the recipients in its SMTP envelope. */
export type DeliveredMail = ReceivedMail & { envelope: string[] }

/** A real SMTP server on a free port of this machine. */
export type MailServer = AsyncDisposable & {
  /** SMTP URL for the setting `smtpUrl` of a hub. */
  url: string
  /** Received mails, oldest first. */
  mails: DeliveredMail[]
  /** Number of recipients that clients tried to deliver a mail to, accepted or refused. */
  attempts(): number
  /** Refuses the next `count` recipients with this SMTP status. */
  refuseNext(count: number, status: number): void
  /** Makes the server read mails without ever acknowledging them. */
  hang(): void
  /** Stops the server. Its port then refuses connections. */
  stop(): Promise<void>
}

type MailServerOptions = {
  /** Port to listen on. Any free port by default. */
  port?: number
  /** True for implicit TLS, with a self-signed certificate. */
  secure?: boolean
  /** Password with which clients have to authenticate. */
  password?: string
}

/** Starts a mail server. */
export async function mailServer({
  port = 0,
  secure = false,
  password,
}: MailServerOptions = {}): Promise<MailServer> {
  const mails: DeliveredMail[] = []
  let attempts = 0
  let refusals = { count: 0, status: 0 }
  let isHanging = false
  const server = new SMTPServer({
    secure,
    authOptional: password === undefined,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 10,
    onAuth: (auth, _session, done) =>
      auth.password === password ? done(null, { user: auth.username }) : done(new Error('wrong password')),
    onRcptTo(_address, _session, done) {
      attempts++
      if (refusals.count-- > 0) {
        done(Object.assign(new Error('refused by the test'), { responseCode: refusals.status }))
      } else done()
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (isHanging) return
        parseMail(Buffer.concat(chunks)).then(mail => {
          mails.push({ ...mail, envelope: session.envelope.rcptTo.map(({ address }) => address) })
          done()
        }, done)
      })
    },
  })
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= new Promise(done => server.close(() => done())))
  return {
    url: `${secure ? 'smtps' : 'smtp'}://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    mails,
    attempts: () => attempts,
    refuseNext(count, status) {
      refusals = { count, status }
    },
    hang() {
      isHanging = true
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

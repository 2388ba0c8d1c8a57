import { randomBytes, randomUUID } from 'node:crypto'
import { isLoopback } from '@muster/actions'
import { remoteConnect } from '../../bus/open-bus.ts'
import type { Config } from '../../config.ts'
import { createMailer } from '../../mail/mailer.ts'
import { quietLog } from '../instance-database.ts'
import { type Finding, ok, type Probe, warning } from './finding.ts'

/** Checks of the mail server, and of the server that carries messages between nodes. */
export function serverProbes(config: Config): Probe[] {
  return [
    {
      name: 'mail',
      run: () => checkMail(config),
      advice: 'Correct MUSTER_SMTP_URL, or let this machine reach the mail server.',
    },
    {
      name: 'bus',
      run: signal => checkBus(config, signal),
      advice: `Let this machine reach ${config.natsUrls ? 'the servers of MUSTER_NATS_URL' : 'the database with a session of its own (MUSTER_DATABASE_DIRECT_URL past a pooler)'}.`,
    },
  ]
}

async function checkMail(config: Config): Promise<Finding> {
  const { smtpUrl, publicUrl } = config
  if (smtpUrl === undefined)
    return isLoopback(publicUrl)
      ? ok('Mails go to the outbox in the data folder.')
      : warning(
          'Mails go to the outbox in the data folder, so nobody gets one.',
          'Set MUSTER_SMTP_URL and MUSTER_MAIL_FROM.',
        )
  await using mailer = createMailer({ ...config, log: quietLog(config) })
  await mailer.check()
  return ok(`The mail server ${new URL(smtpUrl).host} accepts the sign-in.`)
}

/** Sends a message to itself, over two connections, because NATS delivers none to its sender. */
async function checkBus(config: Config, signal: AbortSignal): Promise<Finding> {
  // Another key than the instance's, so that no node gets the message.
  const key = randomBytes(32)
  const remote = await remoteConnect(config, () => key)
  if (remote === undefined) return ok('The hub is the only node and needs no messages.')
  const closing = new AbortController()
  const { promise: lost, reject: lose } = Promise.withResolvers<never>()
  const { promise: arrived, resolve } = Promise.withResolvers<string>()
  const onAbort = (): void => lose(signal.reason)
  signal.addEventListener('abort', onAbort)
  const connect = (): ReturnType<typeof remote.connect> =>
    remote.connect({
      received: (_subject, text) => resolve(text),
      lost: reason => lose(new Error(reason)),
      signal: closing.signal,
    })
  try {
    const [receiver, sender] = await Promise.race([Promise.all([connect(), connect()]), lost])
    await Promise.race([receiver.listen(['doctor']), lost])
    await Promise.race([sender.send([{ subject: 'doctor', text: randomUUID() }]), lost])
    await Promise.race([arrived, lost])
    return ok(`Messages between nodes arrive (${remote.kind}).`)
  } finally {
    signal.removeEventListener('abort', onAbort)
    // Closing the connections ends `lost`, which nobody awaits any more.
    lost.catch(() => {})
    closing.abort()
  }
}

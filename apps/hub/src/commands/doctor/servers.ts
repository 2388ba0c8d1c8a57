import { randomBytes, randomUUID } from 'node:crypto'
import { isLoopback, newId } from '@muster/actions'
import { waitUpTo } from '@muster/concurrency'
import { AND, carriersOf } from '../../platform/bus/carriers.ts'
import {
  type BusMessage,
  batchTexts,
  messageText,
  parseBatch,
  parseMessage,
} from '../../platform/bus/messages.ts'
import { remoteConnects } from '../../platform/bus/open-bus.ts'
import type { BusConnection, Connect } from '../../platform/bus/remote-bus.ts'
import { shownNodes } from '../../platform/cluster/node.ts'
import { carriersOfNode } from '../../platform/cluster/shared-carrier.ts'
import type { Config } from '../../platform/config/config.ts'
import { loadInstanceKey } from '../../platform/credentials/instance-key.ts'
import { createMailer } from '../../platform/mail/mailer.ts'
import { type Finding, failure, ok, type Probe, warning } from '../../platform/operator/finding.ts'
import { openInstance, quietLog } from '../instance-database.ts'

/** Time that nodes have to answer, in milliseconds. Over PostgreSQL a node sends at most every 200 ms. */
const ECHO_MS = 3_000

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
      advice: `Let this machine reach ${carriersOf(config).includes('NATS') ? 'the servers of MUSTER_NATS_URL' : 'the database with a session of its own (MUSTER_DATABASE_DIRECT_URL past a pooler)'}.`,
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

/** Checks each carrier with a message to itself, then asks the running nodes for an echo. */
async function checkBus(config: Config, signal: AbortSignal): Promise<Finding[]> {
  // Another key than the instance's, so that no node gets the message.
  const key = randomBytes(32)
  const remotes = await remoteConnects(config, () => key)
  if (remotes.length === 0) return [ok('The hub is the only node and needs no messages.')]
  const findings: Finding[] = []
  for (const { kind, connect } of remotes) {
    await reachItself(connect, signal)
    findings.push(ok(`Messages between nodes arrive (${kind}).`))
  }
  return [...findings, ...(await askNodes(config, signal))]
}

/** Sends a message to itself, over two connections, because NATS delivers none to its sender. */
async function reachItself(connect: Connect, signal: AbortSignal): Promise<void> {
  const { promise: arrived, resolve } = Promise.withResolvers<string>()
  await using sides = await connected(connect, (_subject, text) => resolve(text), signal)
  await sides.inTime(sides.receiver.listen(['doctor']))
  await sides.inTime(sides.sender.send([{ subject: 'doctor', text: randomUUID() }]))
  await sides.inTime(arrived)
}

/**
 * Asks all running nodes for an echo over each carrier of this machine's settings. A node that is alone is not asked, because it has no
 * connection for messages.
 */
async function askNodes(config: Config, signal: AbortSignal): Promise<Finding[]> {
  const key = await loadInstanceKey(config.dataDir, config.instanceKey, { mayMake: false })
  await using instance = await openInstance(config)
  const nodes = (await shownNodes(instance.db)).filter(({ draining_at }) => draining_at === null)
  if (nodes.length < 2) return []
  // Nodes of releases without the column know no echo.
  const older = nodes.filter(({ carriers }) => carriers === null)
  const findings = older.map(({ name }) =>
    warning(
      `The node ${name} has an older release, which answers no echo.`,
      'Upgrade it, and run this command again.',
    ),
  )
  const remotes = await remoteConnects(config, key)
  const kinds: string[] = remotes.map(({ kind }) => kind)
  const asked = nodes.filter(({ carriers }) => carriers !== null)
  for (const node of asked)
    if (!carriersOfNode(node).some(carrier => kinds.includes(carrier)))
      findings.push(
        failure(`The node ${node.name} uses ${node.carriers}, and this machine ${kinds.join(AND)}.`, SAME),
      )
  for (const { kind, connect } of remotes) {
    const expected = asked.filter(node => carriersOfNode(node).includes(kind))
    const silent = await withoutEcho(connect, expected, signal)
    for (const { name } of silent)
      findings.push(failure(`The node ${name} did not answer over ${kind} within ${ECHO_MS / 1000} s.`, SAME))
    if (silent.length === 0 && expected.length > 0)
      findings.push(
        ok(`${expected.length} ${expected.length === 1 ? 'node answers' : 'nodes answer'} over ${kind}.`),
      )
  }
  return findings
}

const SAME =
  'Set MUSTER_NATS_URL and MUSTER_BUS alike on all nodes, and let each of them reach the carrier (docs/operating.md, "Messages between nodes").'

/** Returns the nodes of `expected` that do not answer within `ECHO_MS`. */
async function withoutEcho<Node extends { node_id: string }>(
  connect: Connect,
  expected: readonly Node[],
  signal: AbortSignal,
): Promise<Node[]> {
  const askedBy = newId('cluster_node')
  const missing = new Set(expected.map(({ node_id }) => node_id))
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  const received = (_subject: string, text: string): void => {
    for (const message of parseBatch(text).messages) {
      const answer = parseMessage('echoes', message)
      if (answer.askedBy === askedBy) missing.delete(answer.nodeId)
    }
    if (missing.size === 0) resolve()
  }
  await using sides = await connected(connect, ignoringInvalid(received), signal)
  await sides.inTime(sides.receiver.listen(['echoes']))
  const question: BusMessage<'echo'> = { askedBy }
  const [text] = batchTexts(askedBy, [messageText('echo', question)])
  if (missing.size > 0) {
    await sides.inTime(sides.sender.send([{ subject: 'echo', text: text! }]))
    await sides.inTime(waitUpTo(ECHO_MS, complete))
  }
  return expected.filter(({ node_id }) => missing.has(node_id))
}

/** Anybody who reaches the carrier may send texts that are no messages. */
function ignoringInvalid(received: (subject: string, text: string) => void): typeof received {
  return (subject, text) => {
    try {
      received(subject, text)
    } catch {}
  }
}

type Sides = AsyncDisposable & {
  receiver: BusConnection
  sender: BusConnection
  /** Rejects if `signal` aborts or a connection is lost before the work is done. */
  inTime<T>(work: Promise<T>): Promise<T>
}

/** Opens two connections to a carrier. Disposal closes them. */
async function connected(
  connect: Connect,
  received: (subject: string, text: string) => void,
  signal: AbortSignal,
): Promise<Sides> {
  const closing = new AbortController()
  const { promise: lost, reject: lose } = Promise.withResolvers<never>()
  // Closing the connections ends `lost`, which nobody awaits any more.
  lost.catch(() => {})
  const onAbort = (): void => lose(signal.reason)
  signal.addEventListener('abort', onAbort)
  const close = async (): Promise<void> => {
    signal.removeEventListener('abort', onAbort)
    closing.abort()
  }
  const inTime = <T>(work: Promise<T>): Promise<T> => Promise.race([work, lost])
  const open = (): Promise<BusConnection> =>
    connect({ received, lost: reason => lose(new Error(reason)), signal: closing.signal })
  try {
    const [receiver, sender] = await inTime(Promise.all([open(), open()]))
    return { receiver, sender, inTime, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

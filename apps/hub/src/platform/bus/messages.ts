import {
  ClusterNodeId,
  DeploymentTokenId,
  DeviceCertificateId,
  DeviceConnectionId,
  DeviceId,
  type LiveChange,
  type LiveTopic,
  OrganizationId,
  ProjectId,
  RepositoryId,
  UserId,
} from '@muster/actions'
import { z } from 'zod'

/**
 * Largest text of one batch in bytes. PostgreSQL accepts a notification below 8,000 bytes. The longest message has about 250 bytes, so a
 * batch has room for many.
 */
export const MAX_BATCH_BYTES = 7_900

/** Topics of live changes. The type makes the compiler report a missing topic. */
const TOPICS: Record<LiveTopic, true> = {
  organizations: true,
  members: true,
  invitations: true,
  projects: true,
  tokens: true,
  views: true,
  webhooks: true,
  devices: true,
  certificates: true,
  connections: true,
  properties: true,
  events: true,
  operations: true,
  repositories: true,
  packages: true,
  links: true,
  log: true,
}

const Change = z.object({
  topic: z.enum(Object.keys(TOPICS) as LiveTopic[]),
  organizationId: OrganizationId,
  projectId: ProjectId.optional(),
  deviceId: DeviceId.optional(),
  repositoryId: RepositoryId.optional(),
})

/** Id of a right that may have ended. The id of a person stands for all sessions, user tokens and memberships of the person. */
const Ended = z.union([
  z.object({ userId: UserId }),
  z.object({ certificateId: DeviceCertificateId }),
  z.object({ tokenId: DeploymentTokenId }),
  z.object({ deviceId: DeviceId }),
  z.object({ projectId: ProjectId }),
  z.object({ organizationId: OrganizationId }),
])

/** Id of a connection at the receiving node that is obsolete, because its device has connected to another node. */
const Replaced = z.object({ connectionId: DeviceConnectionId })

/** Id of a node whose earlier messages were lost. */
const Lost = z.object({ nodeId: ClusterNodeId })

/** Id that the asker of echoes has made for itself. */
const Echo = z.object({ askedBy: ClusterNodeId })

/** Id of the node that answers, and that of the asker. */
const EchoAnswer = z.object({ askedBy: ClusterNodeId, nodeId: ClusterNodeId })

/** Object with plain texts instead of branded ids, for each member of a union. */
type Plain<T> = T extends unknown ? { [Key in keyof T]: string } : never

/** Id of a right that may have ended. */
export type EndedRight = Plain<z.output<typeof Ended>>

/**
 * Subjects of messages: `live.` with the id of an organization or of a person, `node.` with the id of a node, `rights`, `losses`, to which
 * a node sends after it has lost messages, and `echo`, which each node answers on `echoes` (`muster-hub doctor`). A node subscribes to a `live.` subject only while a console of that organization or person
 * is connected to it.
 */
export type BusSubject = keyof SubjectMessages

type SubjectMessages = {
  rights: EndedRight
  losses: Plain<z.output<typeof Lost>>
  echo: Plain<z.output<typeof Echo>>
  echoes: Plain<z.output<typeof EchoAnswer>>
  [live: `live.${string}`]: LiveChange
  [node: `node.${string}`]: Plain<z.output<typeof Replaced>>
}

/** Message with the subject `S`. */
export type BusMessage<S extends BusSubject> = SubjectMessages[S]

/** Messages with the same subject that are sent as one JSON text. `from` is the sending node. */
const Batch = z.object({ from: ClusterNodeId, messages: z.array(z.unknown()) })

/** Thrown for a message that does not fit into a batch. */
export class BusMessageTooLarge extends Error {
  constructor(subject: string, sizeBytes: number) {
    super(
      `Found a message of ${sizeBytes} bytes for the subject ${subject}, expected at most ${MAX_BATCH_BYTES - HEAD_BYTES} bytes: send ids instead of values.`,
    )
    this.name = 'BusMessageTooLarge'
  }
}

/** Bytes of a batch without its messages, rounded up. */
const HEAD_BYTES = 100

/** Returns the text of a message. Throws `BusMessageTooLarge`. */
export function messageText(subject: BusSubject, message: unknown): string {
  const text = JSON.stringify(message)
  const sizeBytes = Buffer.byteLength(text)
  if (sizeBytes > MAX_BATCH_BYTES - HEAD_BYTES) throw new BusMessageTooLarge(subject, sizeBytes)
  return text
}

/** Joins message texts with the same subject into batch texts of at most `MAX_BATCH_BYTES`. Keeps the order. */
export function batchTexts(nodeId: string, texts: readonly string[]): string[] {
  const batches: string[][] = []
  let sizeBytes = Number.POSITIVE_INFINITY
  for (const text of texts) {
    const added = Buffer.byteLength(text) + 1
    if (sizeBytes + added > MAX_BATCH_BYTES) {
      batches.push([])
      sizeBytes = HEAD_BYTES
    }
    batches.at(-1)!.push(text)
    sizeBytes += added
  }
  return batches.map(batch => `{"from":${JSON.stringify(nodeId)},"messages":[${batch.join()}]}`)
}

/** Parses a batch: its sender and its messages, which are not validated yet. Throws an error that says what is wrong with the text. */
export function parseBatch(text: string): z.output<typeof Batch> {
  if (text.length > MAX_BATCH_BYTES)
    throw new Error(`found ${text.length} characters, expected at most ${MAX_BATCH_BYTES}`)
  return Batch.parse(JSON.parse(text))
}

/**
 * Validates a message. Throws if the message has another type than its subject needs, has a value that only a newer release knows, or names
 * another organization or person than its subject.
 */
export function parseMessage<S extends BusSubject>(subject: S, message: unknown): BusMessage<S>
export function parseMessage(subject: string, message: unknown): object {
  if (subject === 'rights') return Ended.parse(message)
  if (subject === 'losses') return Lost.parse(message)
  if (subject === 'echo') return Echo.parse(message)
  if (subject === 'echoes') return EchoAnswer.parse(message)
  const [kind, id] = subject.split('.')
  if (kind === 'node') return Replaced.parse(message)
  const change = Change.parse(message)
  const isForPerson = UserId.safeParse(id).success
  // Messages to a person need not name an organization of the person: someone who was just invited or removed is no member of it. Only
  // these two topics are sent to persons.
  const isMeant = isForPerson
    ? change.topic === 'organizations' || change.topic === 'invitations'
    : change.organizationId === id
  if (!isMeant)
    throw new Error(`found a change of ${change.topic} in ${change.organizationId}, expected one of ${id}`)
  return change
}

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { newId, publicIdOf } from '@muster/actions'
import { hashSecret } from '@muster/hub/secrets'
import { connectDevice, connectPerson } from '@muster/testkit/device'
import { forwardLocally } from '../testkit/src/device-page.ts'
import { type LiveStream, liveStream } from '../testkit/src/live-stream.ts'
import type { Nodes } from './nodes.ts'

/** A member of the organization with a session and a user token. */
export type Member = { userId: string; cookie: string; sessionId: string; token: string; tokenId: string }

/** Inserts the database rows of a new member of the first organization. */
export async function newMember({ database, project }: Nodes): Promise<Member> {
  const [userId, session, token] = [newId('u'), newId('u_session_sk'), newId('u_sk')] as const
  const [sessionId, tokenId] = [publicIdOf(session), publicIdOf(token)]
  await database.query(`insert into "user" (user_id, email) values ($1, $2)`, [
    userId,
    `${userId}@test.example`,
  ])
  await database.query('insert into organization_member (organization_id, user_id) values ($1, $2)', [
    project.organizationId,
    userId,
  ])
  await database.query(
    `insert into session (session_id, token_hash, user_id, user_agent, expires_at)
     values ($1, $2, $3, 'test', now() + interval '1 day')`,
    [sessionId, hashSecret(session), userId],
  )
  await database.query(
    `insert into user_token (token_id, token_hash, user_id, name) values ($1, $2, $3, 'test')`,
    [tokenId, hashSecret(token), userId],
  )
  return { userId, cookie: `__Host-muster=${session}`, sessionId, token, tokenId }
}

/** Opens the live stream of a person at a node. */
export function streamAt(nodes: Nodes, at: number, { cookie }: Member): Promise<LiveStream> {
  return liveStream(nodes.hubs[at]!, { cookie })
}

/** Connects a device directly to the given node and not through the proxy. The device forwards to ports of this machine. */
export function deviceAt({ hubs, token }: Nodes, at: number) {
  return connectDevice({ url: hubs[at]!.url, token, link: { onRequest: forwardLocally } })
}

/** Starts a TCP echo service on this machine, as the target of forwards to a device. */
export async function echoService(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer(
    { allowHalfOpen: true },
    socket => void socket.on('error', () => {}).pipe(socket),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

/** Endpoint of a forward to a port of a device. */
export function forwardTo(deviceId: string, port: number): string {
  return `device/${deviceId}/proxy/forward/tcp/${port}`
}

/** Resolves to the time that `work` takes, in milliseconds. */
export async function timeOf(work: Promise<unknown>): Promise<number> {
  const fromMs = performance.now()
  await work
  return performance.now() - fromMs
}

/**
 * Revokes a certificate, a user token, a session and a membership at the first node. Resolves to the times in milliseconds after which the
 * connections that depend on them ended at the other nodes. `echoPort` is the port of a TCP echo service. Throws when another node still
 * accepts one of these credentials, or when a connection ended that depends on none of them.
 */
export async function endRights(nodes: Nodes, echoPort: number): Promise<Record<string, number>> {
  const { hubs, project, token } = nodes
  const [first, second, third] = await Promise.all([newMember(nodes), newMember(nodes), newMember(nodes)])
  await using device = await deviceAt(nodes, 1)
  await using reached = await deviceAt(nodes, 1)
  await using line = await connectPerson(hubs[2]!.url, first.token)
  await using live = await streamAt(nodes, 1, second)
  await using kept = await connectPerson(hubs[2]!.url, third.token)
  const channel = await kept.open(forwardTo(reached.deviceId, echoPort))
  await channel.write(Buffer.from('hello'))
  await channel.read()
  const admin = nodes.at(0)
  const { certificates } = await admin('devices_GetDetails', { deviceId: device.deviceId })
  const { certificateId } = certificates[0]!
  const asFirst = nodes.at(0, first.cookie)
  const asSecond = nodes.at(0, second.cookie)
  const { organizationId } = project

  const times: Record<string, Promise<number>> = {
    certificate: timeOf(
      admin('devices_SetCertificateStatus', { certificateId, status: 'Revoked' }).then(
        () => device.link.ended,
      ),
    ),
    token: timeOf(asFirst('users_DeleteToken', { tokenId: first.tokenId }).then(() => line.ended)),
    session: timeOf(
      asSecond('users_TerminateSession', { sessionId: second.sessionId }).then(() => live.ended),
    ),
    membership: timeOf(
      admin('organizations_RemoveMember', { organizationId, userId: third.userId }).then(() =>
        channel.read().catch(() => null),
      ),
    ),
  }
  const ended = await Promise.all(Object.entries(times).map(async ([name, ms]) => [name, await ms] as const))

  const refusals = await Promise.all([
    refusal(connectDevice({ url: hubs[2]!.url, token, identity: device.identity })),
    refusal(connectPerson(hubs[1]!.url, first.token)),
    refusal(streamAt(nodes, 2, second)),
  ])
  if (refusals.includes(undefined) || !kept.isOpen || !reached.link.isOpen)
    throw new Error(`found ${refusals}, and ${kept.isOpen}, ${reached.link.isOpen} for connections of others`)
  return Object.fromEntries(ended)
}

async function refusal(attempt: Promise<AsyncDisposable>): Promise<string | undefined> {
  try {
    await (await attempt)[Symbol.asyncDispose]()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

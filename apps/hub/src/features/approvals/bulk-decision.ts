import { actions, BULK_UNDO_SECS, type BulkReason, type CertificateStatus } from '@muster/actions'
import { sql } from 'kysely'
import type { Tx } from '../../platform/database/client/connection.ts'
import { type Caller, wireActor } from '../../platform/pipeline/caller.ts'
import { type BulkItem, type BulkKind, type ItemResult, type SelectedIds, skipped } from '../bulk/index.ts'

const ALREADY: Record<Exclude<CertificateStatus, 'Pending'>, BulkReason> = {
  Active: 'AlreadyAccepted',
  Rejected: 'AlreadyRejected',
  Revoked: 'AlreadyRevoked',
}

/** Bulk action that accepts or rejects pending certificates. A certificate that was decided or deleted meanwhile is skipped. */
export function bulkDecision(status: 'Active' | 'Rejected'): BulkKind {
  return {
    permission: actions.devices_StartBulkDecision.permission,
    // Accepting several starts at once, because devices wait for it, and each can be revoked.
    delaySecs: status === 'Rejected' ? BULK_UNDO_SECS : 0,
    portion: 200,
    locksRows: 'update',
    items: 'certificates',
    has: sql<boolean>`d.pending_certificates > 0`,
    keepsFilter: false,
    itemsOf,
    async applyPortion({ tx, caller, projectId, events, changed }, items) {
      const decided = await decide(tx, caller, items, status)
      await events.emitEach(
        'devices_CertificateStatusChanged',
        decided.map(({ device_id: deviceId, certificate_id: certificateId }) => ({
          data: { projectId, deviceId: deviceId as never, certificateId: certificateId as never, status },
          old: { status: 'Pending' },
        })),
      )
      for (const { device_id: deviceId } of decided) {
        changed('certificates', { deviceId })
        changed('devices', { deviceId })
      }
      const done = new Set(decided.map(({ position }) => position))
      const others = items.filter(({ position }) => !done.has(position))
      const results = await resultsOf(tx, others)
      for (const position of done) results.set(position, { outcome: 'Succeeded' })
      return results
    },
  }
}

function itemsOf({ projectId, of, ids }: SelectedIds) {
  const byId =
    of === 'devices'
      ? sql`join device d on d.device_id = i.id join device_certificate c on c.device_id = d.device_id`
      : sql`join device_certificate c on c.certificate_id = i.id join device d on d.device_id = c.device_id`
  return sql`
    select i.place, c.first_seen, c.certificate_id, d.device_id, d.name, nullif(d.hostname, '') as hostname, c.token_id,
           c.remote_address
      from unnest(${ids}::text[]) with ordinality as i (id, place) ${byId}
     where d.project_id = ${projectId} and c.status = 'Pending'`
}

type Decided = { position: number; device_id: string; certificate_id: string }

/** Changes the status of those certificates that are still pending, with their history and the counts of their devices. */
async function decide(
  tx: Tx,
  caller: Caller,
  items: readonly BulkItem[],
  status: CertificateStatus,
): Promise<Decided[]> {
  const { rows } = await sql<Decided>`
    with decided as (
      update device_certificate c set status = ${status}
        from unnest(${items.map(({ position }) => position)}::int[], ${items.map(({ deviceId }) => deviceId)}::text[],
                    ${items.map(({ certificateId }) => certificateId)}::text[]) as i (position, device_id, certificate_id)
       where c.certificate_id = i.certificate_id and c.device_id = i.device_id and c.status = 'Pending'
       returning i.position, c.device_id, c.certificate_id, c.fingerprint
    ), history as (
      insert into device_certificate_change (device_id, certificate_id, fingerprint, status, actor)
      select device_id, certificate_id, fingerprint, ${status}, ${JSON.stringify(wireActor(caller))}::json from decided
    )
    select position, device_id, certificate_id from decided order by position`.execute(tx)
  const deviceIds = rows.map(row => row.device_id)
  await sql`
    update device d set pending_certificates = (
      select count(*) from device_certificate c where c.device_id = d.device_id and c.status = 'Pending')
     where d.device_id = any (${deviceIds}::text[])`.execute(tx)
  return rows
}

/** Results of certificates that are no longer pending, with the actor and the time of the change that came before. */
async function resultsOf(tx: Tx, items: readonly BulkItem[]): Promise<Map<number, ItemResult>> {
  if (items.length === 0) return new Map()
  const { rows } = await sql<{
    position: number
    status: Exclude<CertificateStatus, 'Pending'> | null
    actor: unknown
    at: Date | null
  }>`
    select i.position, c.status, past.actor, past.at
      from unnest(${items.map(({ position }) => position)}::int[], ${items.map(({ deviceId }) => deviceId)}::text[],
                  ${items.map(({ certificateId }) => certificateId)}::text[]) as i (position, device_id, certificate_id)
      left join device_certificate c on c.certificate_id = i.certificate_id and c.device_id = i.device_id
      left join lateral (
        select h.actor, h.changed_at as at from device_certificate_change h
         where h.device_id = i.device_id and h.certificate_id = i.certificate_id
           and h.status = coalesce(c.status, 'Deleted')
         order by h.changed_at desc limit 1
      ) past on true`.execute(tx)
  return new Map(
    rows.map(({ position, status, actor, at }) => {
      const reason = status === null ? 'CertificateDeleted' : ALREADY[status]
      return [position, skipped(reason, at === null ? undefined : { actor, at })]
    }),
  )
}

import { newId, publicIdOf } from '@muster/actions'
import { Batcher } from '@muster/concurrency'
import { nameKey } from '@muster/predicates/name-key'
import { CompiledQuery } from 'kysely'
import { hashSecret } from '../../platform/credentials/secrets.ts'
import { BATCHED_WRITES } from '../../platform/database/client/batched-writes.ts'
import { ANONYMOUS, type DeviceCaller, wireActor } from '../../platform/pipeline/caller.ts'
import {
  type CommandParts,
  type CommandTransaction,
  commandTransaction,
} from '../../platform/pipeline/command-transaction.ts'
import type { ShownCertificate } from './client-certificate.ts'
import { isBlockedSql, lockFreeCertificates } from './device-blocks.ts'
import { crowded } from './refusal.ts'

/** A device that no look-up has found, with a token that accepts new devices automatically. */
export type NewDevice = {
  tokenId: string
  projectId: string
  organizationId: string
  fingerprint: string
  certificate: ShownCertificate
  /** Client IP of the connection. */
  address: string
  /** Whether the connection has ended. Its device is not stored then. */
  hasLeft: () => boolean
}

/** A device that a batch has stored, with its active certificate. */
type Stored = { caller: DeviceCaller; certificateId: string }

/** `outcome` is that of the latest batch that had the device. `endsAtMs` is the end of its wait for a batch, by `performance.now()`. */
type Entry = NewDevice &
  Stored & { endsAtMs: number; outcome?: 'stored' | 'certificate locked' | 'not stored' }

/**
 * Stores new devices with their first certificate. It leaves out each device that needs a decision or a wait: its token was deleted, accepts
 * nothing automatically any more, gives labels or is locked, its fingerprint is known or blocked, or its certificate is blocked or, with
 * `own_certificate`, on another device. All of this is read after the certificates were locked. A block locks the certificates of its device
 * first, so none is stored meanwhile. The rows are inserted in the order of the unique index, so that the batches of two nodes do not
 * deadlock.
 */
const STORE = `
  with input as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::timestamptz[],
                         $10::jsonb[])
      with ordinality as i (device_id, certificate_id, token_id, project_id, fingerprint_id, fingerprint_hash, certificate, address, expires_at,
                            actor, at)
  ), token as materialized (
    select token_id, own_certificate from deployment_token
     where token_id = any ($3::text[]) and auto_accept and labels is null for key share skip locked
  ), candidate as (
    select i.*, own_certificate, row_number() over (partition by project_id, certificate order by at) as turn
      from input i join token using (token_id)
     where not exists (select from device d where d.project_id = i.project_id and d.fingerprint_hash = i.fingerprint_hash)
       and not ${isBlockedSql('i.project_id', 'i.fingerprint_hash', 'i.certificate')}
  ), added as (
    insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, name_key)
    select device_id, project_id, fingerprint_id, fingerprint_hash, $11 from candidate n
     where not own_certificate or turn = 1 and not exists (
       select from device_certificate c join device d using (device_id)
        where c.fingerprint = n.certificate and c.status = 'Active' and d.project_id = n.project_id)
     order by project_id, fingerprint_hash
    on conflict (project_id, fingerprint_hash) do nothing
    returning device_id
  ), certified as (
    insert into device_certificate (certificate_id, device_id, fingerprint, status, token_id, remote_address, expires_at)
    select certificate_id, device_id, certificate, 'Active', token_id, address, expires_at from added join input using (device_id)
  ), history as (
    insert into device_certificate_change (device_id, certificate_id, fingerprint, status, actor)
    select device_id, certificate_id, certificate, 'Active', actor from added join input using (device_id)
  )
  select device_id from added`

/** Maximum number of devices in a batch. More of them save little, and hold the locks of a batch for longer. */
const MAX_BATCH = 20
/** Maximum number of devices that wait. */
const MAX_WAITING = 20_000
/** Longest wait of a device for its batch, in milliseconds. */
const WAIT_MS = 30_000
/** Minimum time between the starts of two batches that are not full, in milliseconds. */
const LINGER_MS = 10
/** Number of batches in which a device may meet a locked certificate. Devices of a fleet may share one, and transactions lock it briefly. */
const MAX_TURNS = 20

/**
 * Enrols new devices of all tokens in batches, with six statements for up to 20 devices. No batch waits for a lock of a token or a
 * certificate, and each token gets its share of a batch, so that no token delays the others.
 */
export class NewDevices {
  readonly #parts: CommandParts
  readonly #entries: Batcher<Entry>

  constructor(parts: CommandParts) {
    this.#parts = parts
    this.#entries = new Batcher({
      ...BATCHED_WRITES,
      // Devices of one fleet often share a certificate, so batches in parallel would only find it locked.
      parallel: 1,
      maxBatch: MAX_BATCH,
      maxWaiting: MAX_WAITING,
      lingerMs: LINGER_MS,
      // `retryWhileUnavailable` repeats the whole authentication of each device.
      retryForMs: 0,
      ownerOf: ({ tokenId }) => tokenId,
      weigh: () => 1,
      overloaded: crowded,
      write: entries => this.#write(entries),
    })
  }

  /**
   * Stores a device and its certificate as active. Resolves to undefined if the device needs a transaction of its own, which decides or waits.
   * Throws `Refusal` when too many devices wait, or when the device has waited for too long.
   */
  async add(device: NewDevice): Promise<Stored | undefined> {
    const { tokenId, projectId, organizationId } = device
    const caller: DeviceCaller = {
      actor: 'Device',
      deviceId: newId('d'),
      tokenId,
      projectId,
      organizationId,
    }
    const endsAtMs = performance.now() + WAIT_MS
    const entry: Entry = { ...device, caller, certificateId: newId('d_c'), endsAtMs }
    for (let turn = 0; turn < MAX_TURNS; turn++) {
      await this.#entries.add(entry)
      if (entry.outcome !== 'certificate locked') break
    }
    if (!entry.outcome && performance.now() > endsAtMs) throw crowded()
    return entry.outcome === 'stored' ? { caller, certificateId: entry.certificateId } : undefined
  }

  async #write(entries: Entry[]): Promise<void> {
    const nowMs = performance.now()
    const present = entries.filter(({ endsAtMs, hasLeft }) => nowMs <= endsAtMs && !hasLeft())
    if (present.length === 0) return
    const cause = { caller: ANONYMOUS, scope: {} }
    const outcomeOf = await commandTransaction(
      transaction => this.#store(present, transaction),
      cause,
      this.#parts,
    )
    for (const entry of present) entry.outcome = outcomeOf(entry)
  }

  async #store(entries: Entry[], { tx, events, changed }: CommandTransaction) {
    const shown = ({ projectId, certificate }: Entry) => ({ projectId, certificate: certificate.fingerprint })
    const isLocked = await lockFreeCertificates(tx, entries.map(shown))
    const locked = entries.filter(entry => isLocked(shown(entry)))
    const { rows } = await tx.executeQuery<{ device_id: string }>(CompiledQuery.raw(STORE, valuesOf(locked)))
    const ids = new Set(rows.map(row => row.device_id))
    const stored = locked.filter(({ caller }) => ids.has(caller.deviceId))
    const from = ({ caller, projectId, organizationId, address }: Entry) => ({
      caller,
      scope: { projectId, organizationId },
      origin: { address },
    })
    await events.emitEach(
      'devices_Created',
      stored.map(entry => ({
        ...from(entry),
        data: { deviceId: entry.caller.deviceId, projectId: entry.projectId },
      })),
    )
    await events.emitEach(
      'devices_CertificateAdded',
      stored.map(entry => {
        const { caller, projectId, certificateId } = entry
        return {
          ...from(entry),
          data: { projectId, deviceId: caller.deviceId, certificateId, status: 'Active' },
        }
      }),
    )
    for (const { caller, projectId, organizationId } of stored) {
      const ids = { organizationId, projectId, deviceId: caller.deviceId }
      // Consoles reload their list of tokens, which shows how many devices each token has enrolled.
      changed('tokens', { organizationId, projectId })
      changed('devices', ids)
      changed('certificates', ids)
    }
    return (entry: Entry) => {
      if (ids.has(entry.caller.deviceId)) return 'stored'
      return isLocked(shown(entry)) ? 'not stored' : 'certificate locked'
    }
  }
}

/** Parameters of `STORE`. */
function valuesOf(entries: Entry[]): unknown[] {
  return [
    entries.map(({ caller }) => caller.deviceId),
    entries.map(({ certificateId }) => certificateId),
    entries.map(({ tokenId }) => tokenId),
    entries.map(({ projectId }) => projectId),
    entries.map(({ fingerprint }) => publicIdOf(fingerprint)),
    entries.map(({ fingerprint }) => hashSecret(fingerprint)),
    entries.map(({ certificate }) => certificate.fingerprint),
    entries.map(({ address }) => address),
    entries.map(({ certificate }) => certificate.expiresAt ?? null),
    entries.map(({ caller }) => JSON.stringify(wireActor(caller))),
    nameKey(''),
  ]
}

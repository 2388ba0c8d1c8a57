import { newId } from '@muster/actions'
import { lockCertificate } from '../../../link/gateway/device-blocks.ts'
import { lockDevice } from '../../../link/gateway/device-certificates.ts'
import { wireActor } from '../../../platform/pipeline/caller.ts'
import type { CommandContext } from '../../../platform/pipeline/command-context.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { deleteDevice } from '../deletion.ts'

/**
 * Deletes a device and refuses its fingerprint from then on, with those of its certificates that no other device of the project has:
 * whole fleets may share one.
 */
export const devices_Block = handler('devices_Block', async (context, { deviceId }) => {
  const { tx, caller, scope, events } = context
  const projectId = scope.projectId!
  await lockDevice(tx, deviceId)
  const certificates = await certificatesOf(tx, projectId, deviceId)
  const blocked = certificates.filter(({ isShared }) => !isShared)
  const { name, hostname, ...fingerprint } = await deleteDevice(context, deviceId)
  // A node of an older release knows no blocks, so the device may have come back in spite of one.
  await tx
    .deleteFrom('device_block')
    .where('project_id', '=', projectId)
    .where('fingerprint_hash', '=', fingerprint.fingerprint_hash)
    .execute()
  const blockId = newId('d_block')
  await tx
    .insertInto('device_block')
    .values({
      block_id: blockId,
      project_id: projectId,
      device_id: deviceId,
      ...fingerprint,
      name,
      hostname,
      actor: JSON.stringify(wireActor(caller)),
    })
    .execute()
  if (blocked.length > 0)
    await tx
      .insertInto('device_block_certificate')
      .values(
        blocked.map(one => ({ block_id: blockId, project_id: projectId, fingerprint: one.fingerprint })),
      )
      .execute()
  const counts = {
    certificateCount: blocked.length,
    sharedCertificateCount: certificates.length - blocked.length,
  }
  await events.emit('devices_Blocked', { projectId, deviceId, blockId, ...counts })
  return { blockId, ...counts }
})

/** Locks the certificates of a device, and finds out which of them another device of the project may connect with. */
async function certificatesOf(
  tx: CommandContext['tx'],
  projectId: string,
  deviceId: string,
): Promise<{ fingerprint: string; isShared: boolean }[]> {
  const certificates = await tx
    .selectFrom('device_certificate')
    .where('device_id', '=', deviceId)
    .select('fingerprint')
    .orderBy('fingerprint')
    .execute()
  for (const { fingerprint } of certificates) await lockCertificate(tx, projectId, fingerprint)
  const shared = await tx
    .selectFrom('device_certificate as c')
    .innerJoin('device as d', 'd.device_id', 'c.device_id')
    .where(
      'c.fingerprint',
      'in',
      tx.selectFrom('device_certificate').where('device_id', '=', deviceId).select('fingerprint'),
    )
    .where('c.status', 'in', ['Pending', 'Active'])
    .where('d.project_id', '=', projectId)
    .where('d.device_id', '<>', deviceId)
    .select('c.fingerprint')
    .distinct()
    .execute()
  const ofOthers = new Set(shared.map(({ fingerprint }) => fingerprint))
  return certificates.map(({ fingerprint }) => ({ fingerprint, isShared: ofOthers.has(fingerprint) }))
}

import type { CommandTransaction } from '../../platform/pipeline/command-transaction.ts'
import type { LabelChange } from './device-labels.ts'

/** Changes of the labels of a device. */
export type ChangedDevice = { projectId: string; deviceId: string; changes: readonly LabelChange[] }

/** Records an audit event for each changed label. */
export async function emitLabelChanges(
  events: CommandTransaction['events'],
  devices: readonly ChangedDevice[],
): Promise<void> {
  const all = devices.flatMap(({ changes, ...ids }) => changes.map(change => ({ ...ids, ...change })))
  await events.emitEach(
    'devices_LabelSet',
    all.flatMap(({ old, value, ...data }) =>
      value === undefined ? [] : [{ data: { ...data, value }, old: { value: old } }],
    ),
  )
  await events.emitEach(
    'devices_LabelRemoved',
    all.flatMap(({ old, value, ...data }) => (value === undefined ? [{ data, old: { value: old } }] : [])),
  )
}

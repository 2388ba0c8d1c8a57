import { writeSubject } from '../../../platform/limits/write-budgets.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { changeLabels } from '../device-labels.ts'
import { emitLabelChanges } from '../label-events.ts'

/** Sets and removes labels of a device. */
export const devices_SetLabels = handler(
  'devices_SetLabels',
  async ({ tx, events, scope, caller, changed, services }, { deviceId, set = {}, remove = [] }) => {
    const sizes = [Buffer.byteLength(JSON.stringify(set))]
    services.writeBudgets.take(writeSubject(scope), { kind: 'property', sizes, isByOtherCaller: true })
    const { labels, changes } = await changeLabels(tx, caller, deviceId, { set, remove })
    await emitLabelChanges(events, [{ projectId: scope.projectId!, deviceId, changes }])
    if (changes.length > 0) {
      changed('devices')
      changed('properties')
    }
    return { labels }
  },
)

import {
  isShownInLists,
  refusePropertyOfHub,
  removeProperty,
} from '../../../link/telemetry/device-properties.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Deletes a property. A call by the device is telemetry; any other call is an audited command. */
export const devices_RemoveProperty = handler('devices_RemoveProperty', {
  async byDevice({ caller, services, transaction }, { deviceId, name }) {
    refusePropertyOfHub(name, caller)
    const wasThere = await transaction(tx => removeProperty(tx, caller, deviceId, name))
    if (wasThere) services.ingest.changed('properties', caller)
    if (wasThere && isShownInLists(name)) services.ingest.changed('devices', caller)
    return { result: wasThere ? ('Removed' as const) : ('NotFound' as const) }
  },

  async byOthers({ tx, events, scope, caller, changed }, { deviceId, name }) {
    refusePropertyOfHub(name, caller)
    const before = await removeProperty(tx, caller, deviceId, name)
    if (!before) return { result: 'NotFound' as const }
    await events.emit(
      'devices_PropertyRemoved',
      { projectId: scope.projectId!, deviceId, propertyName: name },
      { old: { value: before } },
    )
    changed('properties')
    if (isShownInLists(name)) changed('devices')
    return { result: 'Removed' as const }
  },
})

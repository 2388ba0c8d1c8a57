import { readProblemRun } from '../../database/queries/devices/problem-run.ts'
import { handler } from '../../handler.ts'

/** Finds out since when a device has reported its present problem. */
export const devices_GetProblemRun = handler('devices_GetProblemRun', ({ db }, { deviceId, of }) =>
  readProblemRun(db, deviceId, of),
)

import { tryBrief } from '../../../platform/database/client/brief.ts'
import { handler } from '../../../platform/pipeline/handler.ts'
import { readProblemRun } from '../problem-run.ts'

/** Finds out since when a device has reported its present problem. Returns no times if reading takes more than 2 s. */
export const devices_GetProblemRun = handler(
  'devices_GetProblemRun',
  async ({ db, signal }, { deviceId, of }) =>
    (await tryBrief(db, signal, tx => readProblemRun(tx, deviceId, of))) ?? {},
)

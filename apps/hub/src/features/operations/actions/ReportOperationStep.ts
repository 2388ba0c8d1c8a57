import { refusal } from '../../../platform/access/authorize.ts'
import { handler } from '../../../platform/pipeline/handler.ts'

/** Takes the report of a device about a step that it has claimed. */
export const devices_ReportOperationStep = handler('devices_ReportOperationStep', {
  byDevice: ({ caller, services, db, transaction, inputText }, input) =>
    services.operations.report(caller, input, inputText, { db, transaction }),
  async byOthers() {
    throw refusal()
  },
})

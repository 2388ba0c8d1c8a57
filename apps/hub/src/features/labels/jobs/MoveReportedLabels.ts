import { LABELS } from '@muster/predicates'
import { sql } from 'kysely'
import { defineJob, HOUR_SECS, type JobContext, RECURRING } from '../../../platform/jobs/define-job.ts'
import { fillInPortions } from '../../../platform/jobs/fill-portions.ts'
import { SYSTEM } from '../../../platform/pipeline/caller.ts'
import { commandTransaction } from '../../../platform/pipeline/command-transaction.ts'
import { moveReportedLabels } from '../device-labels.ts'

/** Devices per portion. Reading the portion takes one statement, each device with a value of its own a transaction. */
const PORTION = 500

declare module '../../../platform/jobs/jobs.ts' {
  interface JobData {
    devices_MoveReportedLabels: Record<never, never>
  }
}

/**
 * Moves what devices had written as the property `dev.muster.labels`, before the hub had labels, to `dev.muster.labels.before`, and reports
 * each of these devices in the audit log.
 */
export const devices_MoveReportedLabels = defineJob({
  name: 'devices_MoveReportedLabels',
  // Like `devices_FillUpdates`, for the property with the labels.
  policy: { ...RECURRING, timeoutSecs: 1500, everySecs: HOUR_SECS },
  run: (context, _data, { jobId, signal }) =>
    fillInPortions(context, signal, {
      job: 'devices_MoveReportedLabels',
      portion: PORTION,
      fill: (last, portion) => movePortion(context, jobId, last, portion),
    }),
})

type Row = { deviceId: string; projectId: string; organizationId: string; isReported: boolean }

async function movePortion(
  context: JobContext,
  jobId: string,
  lastDeviceId: string,
  portion: number,
): Promise<string | undefined> {
  const { rows } = await sql<Row>`
    select d.device_id as "deviceId", d.project_id as "projectId", j.organization_id as "organizationId",
           exists (select from device_property p
                    where p.device_id = d.device_id and p.name = ${LABELS} and not p.protected) as "isReported"
      from device d join project j using (project_id)
     where d.device_id > ${lastDeviceId} order by d.device_id limit ${portion}`.execute(context.db)
  for (const { isReported, ...scope } of rows)
    if (isReported)
      await commandTransaction(
        async ({ tx, events, changed }) => {
          if (!(await moveReportedLabels(tx, scope.deviceId))) return
          await events.emit('devices_ReportedLabelsMoved', {
            projectId: scope.projectId,
            deviceId: scope.deviceId,
          })
          changed('properties')
        },
        { caller: SYSTEM, scope, jobId },
        context,
      )
  return rows.at(-1)?.deviceId
}

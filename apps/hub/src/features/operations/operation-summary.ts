import type { Actor, DeviceOperationStep, DeviceOperationSummary } from '@muster/actions'
import type { RawJson } from '@muster/actions/exact-json'
import type { Db } from '../../platform/database/client/connection.ts'
import { wireTime } from '../../platform/runtime/times.ts'
import { type OperationRow, operationOf } from './operation-rows.ts'
import { waitingText } from './operation-state.ts'

/** Operations with what their summaries need: whether the device is connected, and the steps that unfinished ones wait at. */
export function operationsWithDevices(db: Db) {
  return db
    .selectFrom('device_operation as o')
    .innerJoin('operation_definition as d', 'd.definition_id', 'o.definition_id')
    .leftJoin('device', 'device.device_id', 'o.device_id')
    .select([
      'o.operation_id',
      'o.project_id',
      'o.device_id',
      'o.created_by',
      'o.name',
      'o.description',
      'o.status',
      'o.step_index',
      'o.step_count',
      'o.step_states',
      'o.last_error',
      'o.held_at',
      'o.claim_id',
      'o.claim_session',
      'o.created_at',
      'o.started_at',
      'o.completed_at',
      'o.updated_at',
      'o.deadline_at',
      'd.steps',
      'device.is_connected',
    ])
}

type Row = Awaited<ReturnType<ReturnType<typeof operationsWithDevices>['execute']>>[number]

/** Converts a row to the form of the API. */
export function summaryOf(row: Row): DeviceOperationSummary {
  const operation = operationOf(row as unknown as OperationRow)
  const isOpen = row.completed_at === null
  const steps = isOpen ? ((row.steps as RawJson).parse() as DeviceOperationStep[]) : []
  return {
    deviceOperationId: row.operation_id as never,
    projectId: row.project_id as never,
    deviceId: row.device_id as never,
    createdBy: row.created_by as Actor,
    name: row.name,
    description: row.description ?? undefined,
    status: operation.status,
    stepIndex: row.step_index,
    stepCount: row.step_count,
    lastError: row.last_error ?? undefined,
    createdAt: wireTime(row.created_at),
    startedAt: timeOf(row.started_at),
    completedAt: timeOf(row.completed_at),
    updatedAt: wireTime(row.updated_at),
    waitingFor: isOpen ? waitingText(operation, steps, row.is_connected ?? false) : undefined,
    deadlineAt: timeOf(row.deadline_at),
    heldAt: timeOf(row.held_at),
  }
}

function timeOf(date: Date | null): string | undefined {
  return date === null ? undefined : wireTime(date)
}

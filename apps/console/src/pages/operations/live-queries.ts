import type { LiveQueries } from '../../api/live-query.ts'

/** Queries about operations that live changes affect. */
export const operationQueries = {
  devices_QueryOperations: { operations: 'deviceId' },
  devices_GetOperation: { operations: null },
} satisfies LiveQueries<'operations'>

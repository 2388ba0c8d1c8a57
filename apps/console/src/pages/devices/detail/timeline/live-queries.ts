import type { LiveQueries } from '../../../../api/live-query.ts'

/** Queries about timelines that live changes affect. */
export const timelineQueries = {
  devices_QueryTimeline: {
    devices: 'deviceId',
    certificates: 'deviceId',
    connections: 'deviceId',
    properties: 'deviceId',
    events: 'deviceId',
  },
} satisfies LiveQueries<'timeline'>

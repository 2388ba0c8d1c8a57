// This file is only compiled. The line below each `ts-expect-error` comment must fail to compile; all other lines must compile.
import type { LiveTopic } from '@muster/actions/client'
import type { LiveQueries } from '../live-query.ts'
import type { LIVE_QUERIES } from './live-queries.ts'

type Queries = typeof LIVE_QUERIES
declare const topic: LiveTopic
/** Each topic affects a query. */
const followed: { [Name in keyof Queries]: keyof Queries[Name] }[keyof Queries] = topic

// @ts-expect-error there is no such topic
const unknownTopic: LiveQueries<'timeline'> = { devices_QueryTimeline: { colours: 'deviceId' } }
// @ts-expect-error there is no such action of this feature
const unknownName: LiveQueries<'timeline'> = { devices_GetDetails: { devices: 'deviceId' } }

export type { followed, unknownName, unknownTopic }

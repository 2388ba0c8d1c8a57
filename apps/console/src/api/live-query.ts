import type { FeatureActions, LiveChange, LiveTopic } from '@muster/actions/client'

/**
 * Topics whose changes affect a query. The value names the id that must be equal in the query's input and in the change. With `null`,
 * every change of the topic affects the query.
 */
export type LiveTopics = Partial<Record<LiveTopic, Exclude<keyof LiveChange, 'topic'> | null>>

/** Queries of a feature that live changes affect. The others are only polled. */
export type LiveQueries<F extends keyof FeatureActions> = Partial<Record<FeatureActions[F], LiveTopics>>

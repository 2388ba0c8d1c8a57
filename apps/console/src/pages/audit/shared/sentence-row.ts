import type {
  ActionInput,
  ActionName,
  Actions,
  AuditEvents,
  FeatureActions,
  FeatureEvents,
} from '@muster/actions/client'
import type { Kind } from '../sentences/kinds.ts'
import type { Said } from './entry.ts'

/** An entry with the data of its event or action. Entries from before an upgrade may lack fields. */
type SaidOf<Data> = Omit<Said, 'data'> & { data: Partial<Data> }

/**
 * Kind of an event or action, and the phrase that follows the actor's name. In the phrase, `{deviceId}` stands for the object with that id
 * in the event's data, `[name]` for a value of the data, and `<propertyName>` for a value in the monospace font. `old.name` is the value
 * before the change, `actor.tokenId` an id of the actor, `origin.address` the address of the client. `{userId:old.name}` shows the
 * object with the name `old.name` instead of its current name.
 */
export type SentenceRow<Data = Record<string, unknown>> = {
  kind: Kind
  say: string | ((entry: SaidOf<Data>) => string)
}

/** Rows of all audit events of a feature. */
export type EventSentences<F extends keyof FeatureEvents> = SentenceRows<FeatureEvents[F]>

/**
 * Rows of all actions of a feature that leave an entry in a log when they fail. Queries and preferences leave none. The phrases follow
 * "could not".
 */
export type ActionPhrases<F extends keyof FeatureActions> = SentenceRows<LoggedInputs<FeatureActions[F]>>

/** Data of all audit events, by the name of the event. */
export type LoggedEvents = AuditEvents

/** Inputs of the actions that leave an entry in a log, with the ids of owners that the hub adds, by the name of the action. */
export type LoggedInputs<Names extends ActionName = ActionName> = {
  [N in Names as Actions[N]['kind'] extends 'command' | 'telemetry' ? N : never]: ActionInput<N> & Owners
}

type Owners = { deviceId?: string; projectId?: string; repositoryId?: string }

type SentenceRows<DataOf> = { [N in keyof DataOf]: SentenceRow<DataOf[N]> }

/** `Rows` with an error in place of each row whose phrase names a field that its data does not have. */
export type WithKnownFields<Rows extends Record<keyof DataOf, { say: unknown }>, DataOf> = {
  [N in keyof DataOf]: [UnknownFields<Rows[N]['say'], keyof DataOf[N] & string>] extends [never]
    ? Rows[N]
    : `has no field ${UnknownFields<Rows[N]['say'], keyof DataOf[N] & string>}`
}

type UnknownFields<Say, Key extends string> = Exclude<FieldsOf<Say>, Place<Key> | `${Key}:${Place<Key>}`>
type Place<Key extends string> = Key | 'event' | `old.${string}` | 'actor.tokenId' | 'origin.address'

/** Texts between the brackets of a phrase. A phrase that a function builds from parts is not checked. */
type FieldsOf<Say> = Say extends (...args: never) => infer Phrase ? FieldsIn<Phrase> : FieldsIn<Say>
type FieldsIn<Phrase> = Between<Phrase, '{', '}'> | Between<Phrase, '[', ']'> | Between<Phrase, '<', '>'>
type Between<
  Phrase,
  Open extends string,
  Close extends string,
> = Phrase extends `${string}${Open}${infer Field}${Close}${infer Rest}`
  ? Field | Between<Rest, Open, Close>
  : never

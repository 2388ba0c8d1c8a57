import type { ActionName, Actions, HandlerOutput, ParsedInput } from '@muster/actions'
import type { CommandContext, PreferenceContext, QueryContext, TelemetryContext } from './command-context.ts'

type Run<Context, N extends ActionName, Result = HandlerOutput<N>> = (
  context: Context,
  input: ParsedInput<N>,
) => Promise<Result>

/**
 * A command with slow work, such as hashing a password. `prepare` runs after the permission check and before the transaction. It
 * returns the function that then runs in the transaction.
 */
type Prepared<N extends ActionName> = {
  prepare: Run<QueryContext, N, (context: CommandContext) => Promise<HandlerOutput<N>>>
}

/** Handler of an action, with the context of its kind: query, preference, command or telemetry. */
export type Handler<N extends ActionName> = Actions[N]['kind'] extends 'query'
  ? Run<QueryContext, N>
  : Actions[N]['kind'] extends 'command'
    ? Run<CommandContext, N> | Prepared<N>
    : Actions[N]['kind'] extends 'preference'
      ? Run<PreferenceContext, N>
      : { byDevice: Run<TelemetryContext, N>; byOthers: Run<CommandContext, N> }

/** Handlers of all actions. A missing, misspelt or swapped handler does not compile. */
export type Handlers = { [N in ActionName]: Handler<N> }

/** Declares a handler. The name of its action gives the types of context, input and output. */
export function handler<N extends ActionName>(_name: N, run: Handler<N>): Handler<N> {
  return run
}

import type { ActionName, Actions, HandlerOutput, ParsedInput } from '@muster/actions'
import type { CommandContext, QueryContext, TelemetryContext } from './command-context.ts'

type Run<Context, N extends ActionName, Result = HandlerOutput<N>> = (
  context: Context,
  input: ParsedInput<N>,
) => Promise<Result>

/**
 * A command with work that takes long: it is done after the permission check and before the transaction, which gets what is left to
 * do as a function.
 */
type Prepared<N extends ActionName> = {
  prepare: Run<QueryContext, N, (context: CommandContext) => Promise<HandlerOutput<N>>>
}

export type Handler<N extends ActionName> = Actions[N]['kind'] extends 'query'
  ? Run<QueryContext, N>
  : Actions[N]['kind'] extends 'command'
    ? Run<CommandContext, N> | Prepared<N>
    : { byDevice: Run<TelemetryContext, N>; byOthers: Run<CommandContext, N> }

/** One handler for every action: a missing, misspelt or swapped one does not compile. */
export type Handlers = { [N in ActionName]: Handler<N> }

/** Binds a handler to the name of its action, from which its types come. */
export function handler<N extends ActionName>(_name: N, run: Handler<N>): Handler<N> {
  return run
}

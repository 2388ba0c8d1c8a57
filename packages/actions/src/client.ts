import { ActionError, ERROR_STATUS, type ErrorKind, type InputIssue } from './errors.ts'
import type { ActionInput, ActionName, ActionOutput } from './registry.ts'

export type { Actor } from './accounts.ts'
export { ActionError, type ErrorKind } from './errors.ts'
export { agentCommand, isLoopback } from './hub-url.ts'
export * from './limits.ts'
export type { LiveChange, LiveTopic } from './live.ts'
export type * from './registry.ts'
export * from './repository-path.ts'
export { withoutSecrets } from './secret-texts.ts'

export type InvokeOptions = { signal?: AbortSignal }

/** Runs an action by name; rejects with `ActionError`. */
export type Invoke = <N extends ActionName>(
  name: N,
  input: ActionInput<N>,
  options?: InvokeOptions,
) => Promise<ActionOutput<N>>

type ClientOptions = {
  /** Origin of the hub, `''` for the page's own. */
  baseUrl?: string
  headers?: Record<string, string>
  /** Older names under which actions are asked for. */
  names?: Partial<Record<ActionName, string>>
  fetch?: typeof globalThis.fetch
  /** Reads the JSON of an output, where numbers beyond doubles are to survive. */
  parse?: (text: string) => unknown
}

/** A typed client of the HTTP door. Loads no schema library: the hub validates. */
export function createClient({
  baseUrl = '',
  headers = {},
  names = {},
  fetch = globalThis.fetch,
  parse = JSON.parse,
}: ClientOptions = {}): Invoke {
  return async (name, input, options = {}) => {
    let response: Response
    try {
      response = await fetch(`${baseUrl}/api/v1/actions/invoke/${names[name] ?? name}`, {
        method: 'POST',
        credentials: 'same-origin',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(input),
        ...(options.signal && { signal: options.signal }),
      })
    } catch (cause) {
      throw new ActionError('Internal', 'The hub could not be reached.', { status: 0, cause })
    }
    if (!response.ok) throw await errorOf(response)
    return parse(await response.text()) as ActionOutput<typeof name>
  }
}

/** The error that a non-2xx answer describes; a body that is not ours becomes `Internal` with its status. */
export async function errorOf(response: Response): Promise<ActionError> {
  const text = await response.text().catch(() => '')
  const body = parseErrorBody(text)
  const retryAfterSecs = Number(response.headers.get('retry-after')) || undefined
  if (!body) {
    return new ActionError('Internal', text.slice(0, 200) || response.statusText, {
      status: response.status,
      ...(retryAfterSecs !== undefined && { retryAfterSecs }),
    })
  }
  return new ActionError(body.kind, body.message, {
    status: response.status,
    ...(body.issues && { issues: body.issues }),
    ...(body.requestId !== undefined && { requestId: body.requestId }),
    ...(retryAfterSecs !== undefined && { retryAfterSecs }),
  })
}

type ErrorBody = { kind: ErrorKind; message: string; issues?: InputIssue[]; requestId?: string }

function parseErrorBody(text: string): ErrorBody | undefined {
  try {
    const body = JSON.parse(text) as ErrorBody
    return Object.hasOwn(ERROR_STATUS, body.kind) && typeof body.message === 'string' ? body : undefined
  } catch {
    return undefined
  }
}

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
  /** Older names to send instead of the current ones, for hubs that only know those. */
  names?: Partial<Record<ActionName, string>>
  fetch?: typeof globalThis.fetch
  /** Parses the JSON of an output; for callers that need numbers beyond the range of doubles. */
  parse?: (text: string) => unknown
}

/** A typed client of the HTTP API. Loads no schema library: the hub validates. */
export function createClient({
  baseUrl = '',
  headers = {},
  names = {},
  fetch = globalThis.fetch,
  parse = JSON.parse,
}: ClientOptions = {}): Invoke {
  return async (name, input, options = {}) => {
    let response: Response
    let text = ''
    try {
      response = await fetch(`${baseUrl}/api/v1/actions/invoke/${names[name] ?? name}`, {
        method: 'POST',
        credentials: 'same-origin',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(input),
        ...(options.signal && { signal: options.signal }),
      })
      if (response.ok) text = await response.text()
    } catch (cause) {
      throw new ActionError('Internal', 'The hub could not be reached.', { status: 0, cause })
    }
    if (!response.ok) throw await errorOf(response)
    try {
      return parse(text) as ActionOutput<typeof name>
    } catch {
      // A proxy can answer 200 with a page of its own, for example a sign-in page.
      throw foreignAnswer(response, text)
    }
  }
}

/** Number of characters of a foreign answer that are kept for diagnosis. */
const MAX_FOREIGN_CHARS = 200

/**
 * Creates the error for an answer that the hub did not write. Its message is a sentence for people, with the status. Its
 * `cause` is the beginning of the foreign text, because an object store explains its errors there.
 */
function foreignAnswer({ status, statusText, headers }: Response, text: string): ActionError {
  const retryAfterSecs = Number(headers.get('retry-after')) || undefined
  return new ActionError('Internal', `The hub could not be reached through its proxy (${status}).`, {
    status,
    cause: text.slice(0, MAX_FOREIGN_CHARS) || statusText,
    ...(retryAfterSecs !== undefined && { retryAfterSecs }),
  })
}

/**
 * The error that a non-2xx answer describes. An answer that the hub did not write becomes `Internal` with its status.
 */
export async function errorOf(response: Response): Promise<ActionError> {
  const text = await response.text().catch(() => '')
  const body = parseErrorBody(text)
  if (!body) return foreignAnswer(response, text)
  const retryAfterSecs = Number(response.headers.get('retry-after')) || undefined
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

import { type ActionName, createClient, type Invoke } from '@muster/actions/client'
import { loadCode } from '../lib/load-code.ts'

/** Older action names that the console must send instead of the current names (docs/specification.md 7). */
const names = { users_Create: 'users_CreateUser', users_Delete: 'users_DeleteUser' }

const plain = createClient({ names })

/**
 * Actions whose answers contain JSON written by devices. Its numbers may exceed the range or precision of JavaScript
 * numbers, so `parseLossless` keeps their text.
 */
const OF_DEVICES: ReadonlySet<ActionName> = new Set<ActionName>([
  'devices_GetConnectionHistory',
  'devices_GetPage',
  'devices_GetProperty',
  'devices_QueryProperties',
  'devices_QueryPropertyHistory',
  'devices_QueryEvents',
  'devices_QueryTimeline',
])

/** Resolves to a function that throws an `ActionError` for an answer of the action that a page cannot show. */
type AnswerCheck = (name: ActionName) => Promise<(answer: unknown) => void> | undefined

let check: AnswerCheck = () => undefined

/** Sets the check of all later answers. Only signed-in pages set it (`app/check-answer.ts`), which keeps the code of the sign-in page small. */
export function setAnswerCheck(checkAnswer: AnswerCheck) {
  check = checkAnswer
}

/** Runs an action on the hub that served this page. Rejects with `ActionError`. */
export const invoke: Invoke = async (name, ...rest) => {
  const asked = OF_DEVICES.has(name) ? invokeExactly(name, ...rest) : plain(name, ...rest)
  const [answer, verify] = await Promise.all([asked, check(name)])
  verify?.(answer)
  return answer
}

/** Runs an action of `OF_DEVICES`. The parser is code of its own, which lists and public pages do not load. */
const invokeExactly: Invoke = async (name, ...rest) => {
  const { parseLossless } = await loadCode(() => import('@muster/actions/exact-json'))
  return createClient({ names, parse: parseLossless })(name, ...rest)
}

import { Readable } from 'node:stream'
import { ActionError, findAction, MAX_JSON_DEPTH, MAX_PAGE_SIZE } from '@muster/actions'
import { BYTE_ORDER_MARK, csvLine } from '@muster/actions/csv'
import { jsonDepth, parseExact, stringify } from '@muster/actions/exact-json'
import { z } from 'zod'
import type { Route } from '../../platform/http/server.ts'
import { actorId, personOf } from '../../platform/pipeline/caller.ts'
import { callerOfRequest, refuseForeignOrigin } from '../../platform/sessions/request-caller.ts'

type Row = Record<string, unknown>
type Format = {
  contentType: string
  header(columns: string[]): string
  row(columns: string[], row: Row): string
}

const FORMATS: Record<string, Format> = {
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    header: columns => BYTE_ORDER_MARK + csvLine(columns),
    row: (columns, row) => csvLine(columns.map(column => row[column])),
  },
  jsonl: {
    contentType: 'application/jsonl; charset=utf-8',
    header: () => '',
    row: (_columns, row) => `${stringify(row)}\n`,
  },
}

type Params = { action: string; format: string }

/**
 * Exports a whole list as a file: `GET /api/v1/export/{action}.{csv|jsonl}?input={JSON}`. Works for every query with a paginated output.
 * Each page is an ordinary call of the action, so the action alone decides which rows the caller sees.
 */
export const exportList: Route = (core, cookie) => ({
  exposeHeadRoute: false,
  async handler(request, reply) {
    const params = request.params as Params
    const list = listOf(params.action)
    const format = Object.hasOwn(FORMATS, params.format) ? FORMATS[params.format] : undefined
    if (!list || !format)
      throw new ActionError('Invalid', 'Found no such export, expected a paged query and .csv or .jsonl.', {
        status: 404,
      })
    const input = inputOf((request.query as { input?: unknown }).input)
    const readPage = async (cursor?: string): Promise<{ rows: Row[]; nextCursor?: string }> => {
      const { pipeline, sessions, shares, answers } = core()
      // Authenticates again for each page: a session or a right may end during a long export.
      const caller = await callerOfRequest(request, sessions, cookie)
      request.note = { actorId: actorId(caller), action: list.name }
      if (caller.actor === 'User') refuseForeignOrigin(request, cookie)
      const person = personOf(caller)
      if (person && cursor === undefined) shares.takeStream(person, reply.raw)
      const text = JSON.stringify({ ...input, limit: MAX_PAGE_SIZE, cursor })
      const page = await pipeline.invoke(caller, list.name, text, request.id, { address: request.remote })
      // The export holds a page at a time. A later page is as large as the first one, and refusing it would cut the file.
      if (cursor === undefined) answers.addResponse(caller, request.remote, page.length, reply.raw)
      const output = parseExact(page) as Row
      const { nextCursor } = output as { nextCursor?: string }
      return { rows: output[list.member] as Row[], ...(nextCursor && { nextCursor }) }
    }
    async function* lines(page: Awaited<ReturnType<typeof readPage>>): AsyncGenerator<string> {
      yield format!.header(list!.columns)
      for (;;) {
        yield page.rows.map(row => format!.row(list!.columns, row)).join('')
        if (page.nextCursor === undefined) return
        page = await readPage(page.nextCursor)
      }
    }
    // Reads the first page before the headers are sent, so that an error still gets its own status and JSON body.
    const first = await readPage()
    const day = new Date().toISOString().slice(0, 10)
    return reply
      .type(format.contentType)
      .header('content-disposition', `attachment; filename="${list.name}-${day}.${params.format}"`)
      .header('cache-control', 'no-store')
      .send(Readable.from(lines(first), { objectMode: false }))
  },
})

/** A query with a paginated output: its name, the property of its output that holds the rows, and the columns of a row. */
function listOf(name: string): { name: string; member: string; columns: string[] } | undefined {
  const found = findAction(name)
  if (found?.action.kind !== 'query' || !(found.action.output instanceof z.ZodObject)) return undefined
  const shape: z.ZodRawShape = found.action.output.shape
  if (!Object.hasOwn(shape, 'nextCursor')) return undefined
  for (const [member, schema] of Object.entries(shape)) {
    if (schema instanceof z.ZodArray && schema.element instanceof z.ZodObject)
      return { name: found.name, member, columns: Object.keys(schema.element.shape) }
  }
  return undefined
}

/**
 * Parses the input of the action. Adds a filter `until` with the current time, so that the export of a growing log ends. Actions without
 * this filter ignore it.
 */
function inputOf(text: unknown): Row {
  const until = new Date().toISOString()
  if (text === undefined) return { filter: { until } }
  if (jsonDepth(String(text)) > MAX_JSON_DEPTH)
    throw new ActionError('Invalid', `input: found more than ${MAX_JSON_DEPTH} levels.`)
  let input: unknown
  try {
    input = JSON.parse(String(text))
  } catch (cause) {
    throw new ActionError('Invalid', 'input: found text that is not JSON.', { cause })
  }
  if (!isObject(input)) throw new ActionError('Invalid', 'input: expected a JSON object.')
  const filter = input.filter ?? {}
  // A `filter` that is not an object is passed on; the action rejects it.
  return { ...input, filter: isObject(filter) ? { ...filter, until: filter.until ?? until } : filter }
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

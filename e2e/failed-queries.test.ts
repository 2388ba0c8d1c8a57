import { type ActionName, CONSOLE_PATHS } from '@muster/actions'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { actionsOf, urlOf } from './page-actions.ts'
import { failAction } from './people.ts'
import { openPopulatedStage, type PopulatedStage } from './populated-stage.ts'

/** Queries that a page sends together (docs/decisions.md, "Loading"). If they fail, the page sends its parts one by one. */
const JOINED: readonly ActionName[] = ['devices_GetPage']
/** A sentence that says what a page could not load, or the message of the failed query. */
const MISSING = /could not|went wrong|The sky fell/i
/** Without an actor nobody is signed in, and the page to log in is shown (docs/specification.md 8). The others come with the actor. */
const OF_SESSION: readonly ActionName[] = [
  'actor_GetActor',
  'users_GetDetails',
  'users_QueryOrganizationInvitations',
  'users_QueryOrganizations',
]

let populated: PopulatedStage
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
})

afterAll(() => resources.disposeAsync())

it.each(CONSOLE_PATHS)('says what is missing when a query fails, and shows the rest: %s', async path => {
  const page = await populated.stage.signedInPage()
  const url = urlOf(populated, path)
  for (const name of JOINED) await failAction(page, name)
  const names = new Set(await actionsOf(page, url))
  const silent: string[] = []
  for (const name of names) {
    if (JOINED.includes(name) || OF_SESSION.includes(name)) continue
    const mend = await failAction(page, name, 'The sky fell.')
    await actionsOf(page, url)
    const text = await page.locator('body').innerText()
    if (!MISSING.test(text)) silent.push(name)
    await mend()
  }
  expect(silent).toEqual([])
})

import { type ActionName, CONSOLE_PATHS } from '@muster/actions'
import type { Page } from 'playwright-core'
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

/** Number of tabs in which the queries of a page fail. */
const TABS = 4

let populated: PopulatedStage
let tabs: Page[]
const resources = new AsyncDisposableStack()

beforeAll(async () => {
  populated = resources.use(await openPopulatedStage())
  const context = (await populated.stage.signedInPage()).context()
  tabs = await Promise.all(Array.from({ length: TABS }, () => context.newPage()))
  for (const tab of tabs) for (const name of JOINED) await failAction(tab, name)
})

afterAll(() => resources.disposeAsync())

it.each(CONSOLE_PATHS)('says what is missing when a query fails, and shows the rest: %s', async path => {
  const url = urlOf(populated, path)
  const names = new Set(await actionsOf(tabs[0]!, url))
  const left = [...names].filter(name => !JOINED.includes(name) && !OF_SESSION.includes(name))
  const silent: string[] = []
  const failInTurn = async (tab: Page): Promise<void> => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const mend = await failAction(tab, name, 'The sky fell.')
      await actionsOf(tab, url)
      const text = await tab.locator('body').innerText()
      if (!MISSING.test(text)) silent.push(name)
      await mend()
    }
  }
  await Promise.all(tabs.map(failInTurn))
  expect(silent).toEqual([])
})

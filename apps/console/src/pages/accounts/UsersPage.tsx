import { useState } from 'react'
import { useActionPages } from '../../api/queries.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { CreateButton } from '../../ui/app/CreateButton.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { Table } from '../../ui/lazy/Table.tsx'
import { NewUserDialog } from './NewUserDialog.tsx'
import { SetActiveDialog } from './SetActiveDialog.tsx'
import { SetAdminDialog } from './SetAdminDialog.tsx'
import { SetEmailDialog } from './SetEmailDialog.tsx'
import { USER_COLUMNS, type User, UserRow } from './UserRow.tsx'

const PAGE_SIZE = 100

/** Search parameters of the list of users. */
export const usersSearch = { q: anyText, sort: oneOf(['displayName', '-displayName', 'email', '-email']) }

/** The accounts of the instance, newest first by default. */
export function UsersPage() {
  const [{ q, sort }, change] = usePageSearch(usersSearch)
  const [isCreating, setCreating] = useState(false)
  const [changed, setChanged] = useState<User>()
  const [switched, setSwitched] = useState<User>()
  const [moved, setMoved] = useState<User>()
  const text = q?.trim()
  const list = useActionPages('users_Query', {
    limit: PAGE_SIZE,
    ...(text && { filter: { text } }),
    ...(sort && { sort }),
  })
  const users = list.data?.pages.flatMap(page => page.users)
  return (
    <ListPage
      title="Users"
      what="users"
      list={list}
      shown={users?.length}
      actions={<CreateButton onClick={() => setCreating(true)}>New User</CreateButton>}
    >
      <div className="tools">
        <FilterBox
          value={q ?? ''}
          onChange={value => change({ q: value })}
          label="Filter users"
          placeholder="Filter by name, email or id"
        />
      </div>
      <Table
        caption="Users"
        columns={USER_COLUMNS}
        sort={sort}
        onSort={next => change({ sort: next })}
        dense
        rows={users?.map(user => (
          <UserRow
            key={user.userId}
            user={user}
            onSetAdmin={() => setChanged(user)}
            onSetActive={() => setSwitched(user)}
            onSetEmail={() => setMoved(user)}
          />
        ))}
        none={<NoMatch what="users" onClear={() => change({ q: '' })} />}
      />
      {changed && <SetAdminDialog user={changed} onClose={() => setChanged(undefined)} />}
      {switched && <SetActiveDialog user={switched} onClose={() => setSwitched(undefined)} />}
      {moved && <SetEmailDialog user={moved} onClose={() => setMoved(undefined)} />}
      {isCreating && <NewUserDialog onClose={() => setCreating(false)} />}
    </ListPage>
  )
}

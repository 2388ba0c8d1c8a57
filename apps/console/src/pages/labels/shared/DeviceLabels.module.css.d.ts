declare const styles: {
  readonly add: string
  readonly edit: string
  readonly editedKey: string
  readonly editor: string
  readonly key: string
  readonly label: string
  readonly labels: string
  readonly problem: string
  readonly remove: string
  readonly value: string
}
export default styles

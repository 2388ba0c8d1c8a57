declare const styles: {
  readonly condition: string
  readonly fields: string
  readonly lists: string
  readonly names: string
  readonly source: string
  readonly values: string
}
export default styles

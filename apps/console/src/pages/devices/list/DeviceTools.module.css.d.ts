declare const styles: {
  readonly filters: string
  readonly search: string
}
export default styles

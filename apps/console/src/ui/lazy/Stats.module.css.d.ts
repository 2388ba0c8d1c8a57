declare const styles: {
  readonly six: string
  readonly stats: string
}
export default styles

declare const styles: {
  readonly sort: string
}
export default styles

declare const styles: {
  readonly skip: string
}
export default styles

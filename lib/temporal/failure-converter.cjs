/**
 * Encrypts the message and stack of every failure as well: a payload codec alone leaves both readable in history.
 *
 * CommonJS because the worker (by `require`) and the workflow bundler load this file by its path.
 */

const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });

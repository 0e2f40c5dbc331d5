"""Alerts: raised from what is measured, kept in the metadata, sent to a webhook."""

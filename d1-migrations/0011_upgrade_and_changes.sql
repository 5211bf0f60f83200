DROP INDEX `meter_events_charged`;--> statement-breakpoint
CREATE INDEX `meter_events_charged` ON `meter_events` (`organization_id`,`at_ms`,`feature`,`usage_plan_version_id`,`charged_usd`,`charged_rest_nano_usd`) WHERE charge_nano_usd IS NOT NULL;--> statement-breakpoint
ALTER TABLE `organizations` ADD `upgrade_url` text;--> statement-breakpoint
CREATE INDEX `operator_events_by_subject` ON `operator_events` (`subject`,`organization_id`,`event_id`);